/* PE 1 takes a lock and ends; PE 0 wants the lock. */
#include <shmem.h>
#include <unistd.h>

static long lock;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (shmem_my_pe() == 1)
        _exit(0);
    if (shmem_my_pe() == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
