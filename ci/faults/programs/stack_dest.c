/* The destination of a long reduction is on the stack. */
#include <shmem.h>

int main(void)
{
    static int source[1000];
    int dest[1000];
    shmem_init();
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, dest, source, 1000);
    shmem_finalize();
    return dest[0];
}
