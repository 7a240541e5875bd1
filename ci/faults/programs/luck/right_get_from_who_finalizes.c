/* A PE that is done finalizes, and serves those that still read its memory. */
#include "luck.h"
static long source[WORDS];
static void run(void)
{
    long dest[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 100 * me + i;
    shmem_barrier_all();
    for (int turn = 0; me != 0 && turn < 4; turn++) {
        shmem_long_get(dest, source, WORDS, 0);
        for (int i = 0; i < WORDS; i++)
            EXPECT(dest[i], i);
    }
}
