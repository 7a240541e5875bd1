/* PEs print one after the other: a line of a PE is written before the next PE may go on. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    shmem_team_t rows, columns;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &rows, NULL, 0, &columns);
    for (int turn = 0; turn < pes; turn++) {
        if (turn == me)
            printf("%d: (%d, %d)\n", me, shmem_team_my_pe(rows), shmem_team_my_pe(columns));
        shmem_team_sync(SHMEM_TEAM_WORLD);
    }
    shmem_finalize();
    return 0;
}
