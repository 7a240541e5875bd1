/* Making and destroying teams, counted in barriers of the library. A library may find fresh resources for its first
 * teams and reuse them later, so the first ones have a row of their own. */
#include "bench.h"

static int xrange;

static void strided(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
    shmem_team_destroy(team);
}

static void two_dimensional(void)
{
    shmem_team_t x, y;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

BATCH(barrier, shmem_barrier_all())
BATCH(split_strided, strided())
BATCH(split_2d, two_dimensional())

void splits(void)
{
    row_of_first("first splits (strided)", barrier, split_strided);
    split_strided(4096);
    row("split_strided and destroy", barrier, split_strided);
    xrange = 1;
    row("split_2d by 1 and destroy", barrier, split_2d);
    xrange = 2;
    row("split_2d by 2 and destroy", barrier, split_2d);
    xrange = npes;
    row("split_2d by n and destroy", barrier, split_2d);
}
