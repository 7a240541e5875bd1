/* PE 0 sends data and signal to PE 2, and PE 1 waits for them. */
#include <shmem.h>

static uint64_t signal;
static long source[8], dest[8];

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0)
        shmem_long_put_signal(dest, source, 8, &signal, 1, SHMEM_SIGNAL_SET, 2);
    if (shmem_my_pe() == 1)
        shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
