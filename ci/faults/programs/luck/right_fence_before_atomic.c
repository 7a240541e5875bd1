/* A fence keeps an atomic behind a put. */
#include "luck.h"
static long data, count;
static void run(void)
{
    const int next = (me + 1) % npes;
    shmem_long_p(&data, 40 + me, next);
    shmem_fence();
    shmem_long_atomic_inc(&count, next);
    shmem_long_wait_until(&count, SHMEM_CMP_GE, 1);
    EXPECT(data, 40 + (me + npes - 1) % npes);
}
