/* A work array for each call: more active sets than there are places for teams between nodes. The world can be split nevertheless. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETS = 2000 };

static long sync[SETS][SHMEM_BARRIER_SYNC_SIZE];
static int mine, most;

int main(void)
{
    shmem_team_t row, column;
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++) sync[set][i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    /* The second time the sets have their places, or have learnt that there are none. */
    for (int turn = 0; turn < 2; turn++)
        for (int set = 0; set < SETS; set++) shmem_barrier(0, 0, pes, sync[set]);
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, pes, NULL, 0, &row, NULL, 0, &column) != 0) {
        printf("PE %d: no split\n", me);
        exit(3);
    }
    mine = me;
    shmem_int_max_reduce(row, &most, &mine, 1);
    if (most != pes - 1) {
        printf("PE %d: %d is not the greatest\n", me, most);
        exit(3);
    }
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_finalize();
    return 0;
}
