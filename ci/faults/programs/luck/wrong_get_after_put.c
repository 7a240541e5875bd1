/* A get may overtake the put before it. */
#include "luck.h"
static long place;
static void run(void)
{
    const int next = (me + 1) % npes;
    shmem_long_p(&place, 11 + me, next);
    EXPECT(shmem_long_g(&place, next), 11 + me);
}
