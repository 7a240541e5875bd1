/* A barrier completes the put into the root's source. */
#include "luck.h"
static long source, dest;
static void run(void)
{
    if (me == 1)
        shmem_long_p(&source, 8, 0);
    shmem_barrier_all();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &dest, &source, 1, 0);
    EXPECT(dest, 8);
}
