/* After a quiet the source belongs to the program again. */
#include "luck.h"
static long dest[WORDS];
static void run(void)
{
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = i + 1;
    shmem_long_put_nbi(dest, source, WORDS, (me + 1) % npes);
    shmem_quiet();
    for (int i = 0; i < WORDS; i++)
        source[i] = -1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        EXPECT(dest[i], i + 1);
}
