/* A blocking put has copied its source when it returns. */
#include "luck.h"
static long dest[WORDS];
static void run(void)
{
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = i + 1;
    shmem_long_put(dest, source, WORDS, (me + 1) % npes);
    for (int i = 0; i < WORDS; i++)
        source[i] = -1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        EXPECT(dest[i], i + 1);
}
