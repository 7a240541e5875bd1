/* PE 1 computes for ever and does not come to the barrier. */
#include <shmem.h>

static void compute(void)
{
    for (volatile long steps = 0;; steps++)
        ;
}

static void meet(void)
{
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 1)
        compute();
    meet();
    shmem_finalize();
    return 0;
}
