/* A quiet delivers what a nonblocking atomic fetches. */
#include "luck.h"
static long counter = 17;
static void run(void)
{
    long old = 0;
    shmem_barrier_all();
    shmem_long_atomic_fetch_add_nbi(&old, &counter, 1, (me + 1) % npes);
    shmem_quiet();
    EXPECT(old, 17);
}
