/* Who sees the signal sees the data. */
#include "luck.h"
static long data[WORDS];
static uint64_t signal;
static void run(void)
{
    static long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 9 * i;
    shmem_long_put_signal_nbi(data, source, WORDS, &signal, 1, SHMEM_SIGNAL_SET, (me + 1) % npes);
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
    EXPECT(data[WORDS - 1], 9 * (WORDS - 1));
}
