/* More PEs than processors, unbound, beside a bare counter at which every process yields until all have come. */
#include "bench.h"

static struct { struct line arrived, released; } *home;
static long round_of_all, *longs;

static void counter_barrier(void)
{
    round_of_all++;
    if (atomic_fetch_add(&home->arrived.word, 1) + 1 == round_of_all * npes)
        atomic_store(&home->released.word, round_of_all);
    else
        while (atomic_load(&home->released.word) < round_of_all)
            sched_yield();
}

BATCH(bare, counter_barrier())
BATCH(barrier_all, shmem_barrier_all())
BATCH(max_long, shmem_long_max_reduce(SHMEM_TEAM_WORLD, longs + 1, longs, 1))

void crowd(void)
{
    home = shmem_ptr(symmetric(sizeof *home), 0);
    longs = symmetric(2 * sizeof *longs);
    row("barrier_all", bare, barrier_all);
    row("max of 1 long", bare, max_long);
}
