/* PE 0 waits for one signal more than the others send. */
#include <shmem.h>

static uint64_t arrived;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    if (me > 0)
        shmem_uint64_atomic_add(&arrived, 1, 0);
    else
        shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)pes);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
