/* PE 1 computes for ever behind a long broadcast, and does not come to the barrier. */
#include <shmem.h>

enum { WORDS = 1 << 16 };

static long dest[WORDS], source[WORDS];

static void compute(void)
{
    for (volatile long steps = 0;; steps++)
        ;
}

int main(void)
{
    shmem_init();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, WORDS, 0);
    if (shmem_my_pe() == 1)
        compute();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
