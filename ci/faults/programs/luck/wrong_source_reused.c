/* The source of a nonblocking put belongs to the network until a quiet. */
#include "luck.h"
static long dest[WORDS];
int main(void)
{
    long source[WORDS];
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        source[i] = i + 1;
    shmem_long_put_nbi(dest, source, WORDS, (me + 1) % npes);
    for (int i = 0; i < WORDS; i++)
        source[i] = -1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        EXPECT(dest[i], i + 1);
    shmem_finalize();
}
