/* A block is freed right behind a put to it. shmem_free waits for the put, so nothing comes to the next block at its place. */
#include "luck.h"
int main(void)
{
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
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
    shmem_finalize();
}
