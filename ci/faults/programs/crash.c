/* PE 0 crashes while PE 1 is idle. */
#include <shmem.h>
#include <signal.h>
#include <string.h>

int main(void)
{
    shmem_init();
    char *block = shmem_malloc(1 << 20);
    memset(block, 1, 1 << 20);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        raise(SIGSEGV);
    shmem_free(block);
    shmem_finalize();
    return 0;
}
