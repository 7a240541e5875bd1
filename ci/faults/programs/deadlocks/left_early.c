/* PE 0 leaves while the others wait for its signal. */
#include <shmem.h>

static uint64_t go;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() > 0)
        shmem_signal_wait_until(&go, SHMEM_CMP_NE, 0);
    shmem_finalize();
    return 0;
}
