/* Teams of rows and columns. */
#include "luck.h"
static long in, out;
static void run(void)
{
    shmem_team_t row, column;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column))
        shmem_global_exit(3);
    in = me;
    shmem_long_sum_reduce(row, &out, &in, 1);
    const int first = me / 2 * 2, members = shmem_team_n_pes(row);
    EXPECT(out, members == 2 ? 2 * first + 1 : first);
    shmem_team_sync(column);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}
