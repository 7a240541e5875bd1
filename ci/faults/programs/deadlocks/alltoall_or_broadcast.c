/* The PEs make the same two collective calls in different orders. */
#include <shmem.h>

static long source[64], dest[64];

int main(void)
{
    shmem_init();
    int first = shmem_my_pe() == 0;
    if (first)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 8);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 8, 0);
    if (!first)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 8);
    shmem_finalize();
    return 0;
}
