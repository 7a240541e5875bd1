/* A fence orders operations to one PE, not those to several: PE 2 hears of its data from PE 1. */
#include "luck.h"
static long data, told;
static void run(void)
{
    if (me == 0) {
        shmem_long_p(&data, 21, 2);
        shmem_fence();
        shmem_long_p(&told, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&told, SHMEM_CMP_EQ, 1);
        shmem_long_p(&told, 1, 2);
    } else if (me == 2) {
        shmem_long_wait_until(&told, SHMEM_CMP_EQ, 1);
        EXPECT(data, 21);
    }
}
