/* A barrier completes puts. */
#include "luck.h"
static long dest[WORDS];
static void run(void)
{
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 100 * me + i;
    shmem_long_put_nbi(dest, source, WORDS, (me + 1) % npes);
    shmem_barrier_all();
    const int from = (me + npes - 1) % npes;
    for (int i = 0; i < WORDS; i++)
        EXPECT(dest[i], 100 * from + i);
}
