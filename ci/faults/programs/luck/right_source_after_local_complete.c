/* The sources of nonblocking puts are written again behind shmemx_local_complete, which waits until the network has read them. */
#include "luck.h"
#include <shmemx.h>
static long data[WORDS];
static void run(void)
{
    const int next = (me + 1) % npes;
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 7;
    shmem_long_put_nbi(data, source, WORDS, next);
    shmemx_local_complete();
    for (int i = 0; i < WORDS; i++)
        source[i] = 1;
    shmem_barrier_all();
    for (int i = 0; i < WORDS; i++)
        EXPECT(data[i], 7);
}
