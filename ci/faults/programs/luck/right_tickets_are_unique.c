/* Every ticket is drawn once. */
#include "luck.h"
static long next, seen[64];
static void run(void)
{
    for (int i = 0; i < 4; i++)
        shmem_long_atomic_inc(&seen[shmem_long_atomic_fetch_inc(&next, 0)], npes - 1);
    shmem_barrier_all();
    if (me == npes - 1)
        for (int i = 0; i < 4 * npes; i++)
            EXPECT(seen[i], 1);
}
