/* Atomics of all PEs add up, in any order. */
#include "luck.h"
static long sum;
static void run(void)
{
    for (int i = 0; i < 10; i++)
        for (int pe = 0; pe < npes; pe++)
            shmem_long_atomic_add(&sum, i, pe);
    shmem_barrier_all();
    EXPECT(sum, 45 * npes);
}
