/* What a nonblocking get fetches is there after a quiet. */
#include "luck.h"
static long from[WORDS];
static void run(void)
{
    long copy[WORDS] = {0};
    for (int i = 0; i < WORDS; i++)
        from[i] = 1000 * me + i;
    shmem_barrier_all();
    const int next = (me + 1) % npes;
    shmem_long_get_nbi(copy, from, WORDS, next);
    EXPECT(copy[3], 1000 * next + 3);
    shmem_quiet();
}
