/* A message travels around the ring of PEs: each PE waits for it, adds its number and hands it on.
 * A put with a signal carries data and notice in one call. */
#include <shmem.h>
#include <stdio.h>

enum { ROUNDS = 100 };

static long message;
static uint64_t arrived; /* how many messages have come */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;

    for (int round = 1; round <= ROUNDS; round++) {
        long sum = 0;
        if (me != 0) {
            shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, round);
            sum = message;
        }
        sum += me;
        shmem_putmem_signal(&message, &sum, sizeof sum, &arrived, 1, SHMEM_SIGNAL_ADD, next);
        if (me == 0)
            shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, round);
    }
    if (me == 0)
        printf("%d rounds, the sum of all PE numbers is %ld\n", ROUNDS, message);
    shmem_finalize();
    return 0;
}
