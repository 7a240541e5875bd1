/* Collectives in a row, with sources that change after each. */
#include "luck.h"
static long in[4], most[4], sent[4], all[64];
static void run(void)
{
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < 4; i++)
            in[i] = turn * 1000 + me * 10 + i;
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, most, in, 4);
        EXPECT(most[3], turn * 1000 + (npes - 1) * 10 + 3);
        const int root = turn % npes;
        shmem_long_broadcast(SHMEM_TEAM_WORLD, sent, in, 4, root);
        EXPECT(sent[2], turn * 1000 + root * 10 + 2);
        shmem_long_fcollect(SHMEM_TEAM_WORLD, all, in, 1);
        for (int pe = 0; pe < npes; pe++)
            EXPECT(all[pe], turn * 1000 + pe * 10);
        shmem_team_sync(SHMEM_TEAM_WORLD);
    }
}
