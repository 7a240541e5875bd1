/* A PE reads its own counter and writes it back, while others add to it by atomics. */
#include "luck.h"
static long counter;
static void run(void)
{
    for (int i = 0; i < 20; i++)
        if (me == 0)
            shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        else
            shmem_long_atomic_inc(&counter, 0);
    shmem_barrier_all();
    EXPECT(counter, me == 0 ? 20 * npes : 0);
}
