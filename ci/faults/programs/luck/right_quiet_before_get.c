/* After a quiet a get sees the put. */
#include "luck.h"
static long place;
static void run(void)
{
    const int next = (me + 1) % npes;
    shmem_long_p(&place, 11 + me, next);
    shmem_quiet();
    EXPECT(shmem_long_g(&place, next), 11 + me);
}
