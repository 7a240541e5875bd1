/* PE 0 broadcasts and the others meet in a barrier. */
#include <shmem.h>

static long source[8], dest[8];

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 8, 0);
    else
        shmem_barrier_all();
    shmem_finalize();
    return 0;
}
