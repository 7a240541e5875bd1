/* The next message lands in the buffer of the one that is being read: nobody says that it has been read. */
#include "luck.h"
static long buffer[WORDS];
static uint64_t arrived;
static void run(void)
{
    long source[WORDS];
    for (long turn = 1; turn <= 4; turn++) {
        if (me == 0) {
            for (int i = 0; i < WORDS; i++)
                source[i] = turn;
            shmem_long_put_signal(buffer, source, WORDS, &arrived, 1, SHMEM_SIGNAL_ADD, 1);
            shmem_quiet();
        } else if (me == 1) {
            shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)turn);
            for (int i = 0; i < WORDS; i++)
                EXPECT(buffer[i], turn);
        }
    }
}
