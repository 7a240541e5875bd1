/* Quiets and fences with nothing to do between others that have something: the first must not hide the second. */
#include <shmem.h>
#include <stdio.h>

enum { ROUNDS = 300, WORDS = 16 };

static long word[WORDS], flag;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    long wrong = 0;
    for (long round = 1; round <= ROUNDS; round++) {
        long fetched = -1;
        shmem_quiet();
        shmem_fence();
        for (int i = 0; i < WORDS; i++)
            shmem_long_p(&word[i], round, next);
        shmem_fence();
        shmem_long_p(&flag, round, next);
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        for (int i = 0; i < WORDS; i++)
            wrong += word[i] < round;
        shmem_long_get_nbi(&fetched, &word[round % WORDS], 1, me == 0 ? n - 1 : me - 1);
        shmem_quiet();
        shmem_quiet();
        wrong += fetched < round - 1;
        shmem_barrier_all();
    }
    printf("PE %d: %ld wrong\n", me, wrong);
    fflush(stdout);
    shmem_finalize();
    return wrong != 0;
}
