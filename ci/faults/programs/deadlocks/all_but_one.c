/* Each PE but the last sets its flag on PE 0, which waits for all of them. */
#include <shmem.h>

static int flags[3];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    if (me < pes - 1)
        shmem_int_atomic_set(&flags[me], 1, 0);
    if (me == 0)
        shmem_int_wait_until_all(flags, (size_t)pes, NULL, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
