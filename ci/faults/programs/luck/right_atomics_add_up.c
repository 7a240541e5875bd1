/* Atomics of all PEs add up, in any order. */
#include "luck.h"
static long sum;
int main(void)
{
    shmem_init();
    const int npes = shmem_n_pes();
    for (int i = 0; i < 10; i++)
        for (int pe = 0; pe < npes; pe++)
            shmem_long_atomic_add(&sum, i, pe);
    shmem_barrier_all();
    EXPECT(sum, 45 * npes);
    shmem_finalize();
}
