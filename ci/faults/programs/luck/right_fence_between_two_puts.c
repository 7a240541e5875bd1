/* A fence orders two puts to one place. */
#include "luck.h"
static long place;
static void run(void)
{
    shmem_long_p(&place, 1, (me + 1) % npes);
    shmem_fence();
    shmem_long_p(&place, 2, (me + 1) % npes);
    shmem_barrier_all();
    EXPECT(place, 2);
}
