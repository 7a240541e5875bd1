/* The source of a nonblocking put into a block of the heap belongs to the network until a quiet. */
#include "luck.h"
static void run(void)
{
    long source[WORDS];
    long *before = shmem_malloc(sizeof source);
    long *dest = shmem_malloc(sizeof source); /* the block */
    for (int i = 0; i < WORDS; i++)
        source[i] = i + 1;
    shmem_long_put_nbi(dest + 2, source, WORDS - 2, (me + 1) % npes);
    for (int i = 0; i < WORDS; i++)
        source[i] = -1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS - 2; i++)
        EXPECT(dest[i + 2], i + 1);
    shmem_free(dest);
    shmem_free(before);
}
