/* PE 1 holds a lock and waits in a barrier for PE 0, which wants the lock. */
#include <shmem.h>

static long lock;

static void want(void)
{
    shmem_set_lock(&lock);
}

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 1)
        want();
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        want();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
