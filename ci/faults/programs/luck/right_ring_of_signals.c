/* A token goes around the ring. */
#include "luck.h"
static long token[WORDS];
static uint64_t here;
static void run(void)
{
    const int next = (me + 1) % npes;
    long source[WORDS];
    for (uint64_t turn = 1; turn <= 3; turn++) {
        if (me > 0) {
            shmem_signal_wait_until(&here, SHMEM_CMP_EQ, turn);
            EXPECT(token[WORDS - 1], (long)turn * 100 + me - 1);
        }
        for (int i = 0; i < WORDS; i++)
            source[i] = (long)turn * 100 + me;
        shmem_long_put_signal(token, source, WORDS, &here, turn, SHMEM_SIGNAL_SET, next);
        if (me == 0)
            shmem_signal_wait_until(&here, SHMEM_CMP_EQ, turn);
    }
}
