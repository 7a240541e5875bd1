/* Sets of PEs of every start, stride and size meet: as active sets, and as teams that only their members make. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], mine, greatest;

static void meet(int start, int log_stride, int size)
{
    int stride = 1 << log_stride, last = start + (size - 1) * stride, distance = mine - start;
    if (distance < 0 || distance % stride != 0 || mine > last)
        return;
    greatest = -1;
    shmem_int_max_to_all(&greatest, &mine, 1, start, log_stride, size, work, sync_words);
    shmem_team_t team;
    shmemx_team_create_strided(start, stride, size, &team);
    int members = shmem_team_n_pes(team);
    shmemx_team_destroy(&team);
    if (greatest != last || members != size) {
        printf("PE %d: of %d PEs from %d by %d the greatest is %d, and the team has %d\n", mine, size, start, stride,
               greatest, members);
        fflush(stdout);
        shmem_global_exit(3);
    }
}

int main(void)
{
    shmem_init();
    mine = shmem_my_pe();
    int npes = shmem_n_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    for (int log_stride = 0; 1 << log_stride <= npes; log_stride++)
        for (int start = 0; start < npes; start++)
            for (int size = 1; start + (size - 1) * (1 << log_stride) < npes; size++) {
                meet(start, log_stride, size);
                shmem_barrier_all(); /* one array serves all sets */
            }
    printf("all met\n");
    shmem_finalize();
    return 0;
}
