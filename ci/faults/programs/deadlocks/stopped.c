/* PE 2 is stopped while the others meet. */
#include <shmem.h>
#include <signal.h>

int main(void)
{
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == 2)
        raise(SIGSTOP);
    shmem_sync_all();
    shmem_finalize();
    return 0;
}
