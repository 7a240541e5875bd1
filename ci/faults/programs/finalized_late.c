/* Finalizes in a function that was registered before shmem_init, as destructors of C++ are. The others wait for PE 0 for longer than
 * it takes to notice a PE that is gone. */
#include <shmem.h>
#include <stdlib.h>
#include <time.h>

static void end(void)
{
    if (shmem_my_pe() == 0)
        nanosleep(&(struct timespec){2, 0}, NULL);
    shmem_finalize();
}

int main(void)
{
    if (atexit(end) != 0)
        return 1;
    shmem_init();
    shmem_barrier_all();
    return 0;
}
