/* A collective that waits comes behind one of its team that has returned at once, and takes nothing of its messages. */
#include "luck.h"
#include <shmemx.h>
static long mine[4], numbers[4], sums[4], most[4];
static void run(void)
{
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 4; i++) {
            mine[i] = round + me;
            numbers[i] = 100 * me + round;
        }
        shmem_req_h request;
        shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, sums, mine, 4, &request);
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, most, numbers, 4);
        shmem_req_wait(&request);
        for (int i = 0; i < 4; i++) {
            EXPECT(sums[i], npes * round + npes * (npes - 1) / 2);
            EXPECT(most[i], 100 * (npes - 1) + round);
        }
    }
}
