/* A PE that polls its own memory by atomics sees what comes. */
#include "luck.h"
static long flag;
int main(void)
{
    shmem_init();
    shmem_long_p(&flag, 3, (shmem_my_pe() + 1) % shmem_n_pes());
    while (shmem_long_atomic_fetch(&flag, shmem_my_pe()) != 3)
        ;
    shmem_finalize();
}
