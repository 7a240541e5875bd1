/* Mistakes of a first program, one for each name. */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int source[4], dest[4], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "early"))
        printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
    if (!strcmp(name, "early team")) {
        int number = shmem_team_my_pe(SHMEM_TEAM_WORLD), size = shmem_team_n_pes(SHMEM_TEAM_WORLD);
        printf("PE %d of %d, %d\n", number, size, shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED));
    }
    if (!strcmp(name, "early fcollect"))
        shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, 1);
    if (!strcmp(name, "early broadcast"))
        shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, 0);
    if (!strcmp(name, "early broadcast32"))
        shmem_broadcast32(dest, source, 1, 0, 0, 0, 1, sync_words);
    shmem_init();
    int n = shmem_n_pes();
    if (!strcmp(name, "stride"))
        shmem_int_max_to_all(dest, source, 1, 0, 3, n, work, sync_words);
    if (!strcmp(name, "start"))
        shmem_int_max_to_all(dest, source, 1, 1, 0, n, work, sync_words);
    if (!strcmp(name, "no start"))
        shmem_int_max_to_all(dest, source, 1, 4, 0, 1, work, sync_words);
    if (!strcmp(name, "triplet")) {
        shmem_team_t even;
        shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n, &even); /* n / 2 is meant */
    }
    if (!strcmp(name, "null"))
        shmem_long_broadcast(SHMEM_TEAM_WORLD, NULL, NULL, 4, 0);
    if (!strcmp(name, "crash") && shmem_my_pe() == 0)
        raise(SIGSEGV);
    shmem_barrier_all();
    shmem_finalize();
    if (!strcmp(name, "crash behind"))
        raise(SIGSEGV);
}
