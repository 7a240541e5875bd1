/* A put is complete when shmemx_quiet_test says so: its source is written again, and a flag is set behind it. */
#include "luck.h"
#include <shmemx.h>
static long data[WORDS], flag;
static void run(void)
{
    const int next = (me + 1) % npes;
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 7;
    shmem_long_put_nbi(data, source, WORDS, next);
    while (!shmemx_quiet_test())
        ;
    for (int i = 0; i < WORDS; i++)
        source[i] = 1;
    shmem_long_p(&flag, 1, next);
    while (!shmemx_fence_test())
        ;
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < WORDS; i++)
        EXPECT(data[i], 7);
}
