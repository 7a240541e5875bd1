/* A lock orders what is done under it: clear_lock completes the puts of its holder. */
#include "luck.h"
static long lock, a, b;
static void run(void)
{
    for (int turn = 0; turn < 3; turn++) {
        shmem_set_lock(&lock);
        const long seen = shmem_long_g(&a, 0);
        EXPECT(shmem_long_g(&b, 0), 2 * seen);
        shmem_long_p(&a, seen + 1, 0);
        shmem_long_p(&b, 2 * (seen + 1), 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    EXPECT(shmem_long_g(&a, 0), 3 * npes);
}
