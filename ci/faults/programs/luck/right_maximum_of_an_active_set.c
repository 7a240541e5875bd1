/* The oldest form of a maximum, with two work arrays that take turns. */
#include "luck.h"
static long sync[2][SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], in, out[4];
static void run(void)
{
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync[0][i] = sync[1][i] = SHMEM_SYNC_VALUE;
    for (int turn = 0; turn < 4; turn++) {
        in = 10 * turn + me;
        shmem_barrier_all();
        shmem_long_max_to_all(&out[turn], &in, 1, 0, 0, npes, work, sync[turn % 2]);
        EXPECT(out[turn], 10 * turn + npes - 1);
    }
}
