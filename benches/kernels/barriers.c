/* Whatever two PEs can do for the price of a bare two-process barrier. */
#include "bench.h"

static long *longs, *work, *sync_words;
static double *doubles;
/* Active-set calls in a row need two work areas that alternate. */
static long *work_of(long i) { return work + (i & 1) * SHMEM_REDUCE_MIN_WRKDATA_SIZE; }
static long *words_of(long i) { return sync_words + (i & 1) * SHMEM_REDUCE_SYNC_SIZE; }

BATCH(bare, flag_barrier())
BATCH(barrier_all, shmem_barrier_all())
BATCH(sync_all, shmem_sync_all())
BATCH(team_sync, shmem_team_sync(SHMEM_TEAM_WORLD))
BATCH(set_barrier, shmem_barrier(0, 0, npes, words_of(i)))
BATCH(max_long, shmem_long_max_reduce(SHMEM_TEAM_WORLD, longs + 1, longs, 1))
BATCH(max_double, shmem_double_max_reduce(SHMEM_TEAM_WORLD, doubles + 1, doubles, 1))
BATCH(max_to_all, shmem_long_max_to_all(longs + 1, longs, 1, 0, 0, npes, work_of(i), words_of(i)))

void barriers(void)
{
    longs = symmetric(2 * sizeof *longs);
    doubles = symmetric(2 * sizeof *doubles);
    work = symmetric(2 * SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof *work);
    sync_words = symmetric(2 * SHMEM_REDUCE_SYNC_SIZE * sizeof *sync_words);
    for (int i = 0; i < 2 * SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    row("barrier_all", bare, barrier_all);
    row("sync_all", bare, sync_all);
    row("team_sync", bare, team_sync);
    row("max of 1 long", bare, max_long);
    row("max of 1 double", bare, max_double);
    row("active-set barrier", bare, set_barrier);
    row("max_to_all of 1 long", bare, max_to_all);
}
