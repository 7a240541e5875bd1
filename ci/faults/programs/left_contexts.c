/* Contexts of teams that a program leaves to its last shmem_finalize, in several lives. */
#include <shmem.h>
#include <stdio.h>

enum { LIVES = 3 };

static long word;

int main(void)
{
    int me = 0, right = 0;
    for (int life = 0; life < LIVES; life++) {
        shmem_init();
        me = shmem_my_pe();
        const int npes = shmem_n_pes();
        shmem_team_t team;
        shmem_ctx_t context;
        if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) != 0
            || shmem_team_create_ctx(team, 0, &context) != 0)
            shmem_global_exit(1);
        shmem_ctx_long_p(context, &word, 100 * life + me, (me + 1) % npes);
        shmem_ctx_quiet(context);
        shmem_barrier_all();
        right += word == 100 * life + (me + npes - 1) % npes;
        shmem_finalize();
    }
    printf("PE %d: %d of %d lives\n", me, right, LIVES);
    return 0;
}
