/* PE 2 does more work than the others, so it comes last to every barrier but the first. Its work begins when the others are about
 * to enter the barrier: a busy machine that wakes one of them late makes PE 2 later, too. */
#include <shmem.h>
#include <unistd.h>

int main(void) {
    static long here;
    shmem_init();
    shmem_barrier_all();
    for (int round = 1; round <= 12; round++) {
        if (shmem_my_pe() != 2) {
            shmem_long_atomic_inc(&here, 2);
        } else {
            shmem_long_wait_until(&here, SHMEM_CMP_EQ, 3 * round);
            usleep(30000);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
