/* A block is freed right behind a put to it. shmem_free waits for the put, so nothing comes to the next block at its place. */
#include "luck.h"
static void run(void)
{
    const int next = (me + 1) % npes;
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 7;
    long *block = shmem_malloc(sizeof source);
    shmem_long_put_nbi(block, source, WORDS, next);
    shmem_free(block);
    long *again = shmem_malloc(sizeof source);
    for (int i = 0; i < WORDS; i++)
        again[i] = 1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        EXPECT(again[i], 1);
}
