/* Calls that the library records, beside the same ones while its recorder pauses. */
#include "bench.h"

static long *longs;
static char *heap, local[8];

/* One statement twice: recorded as always, and while the recorder pauses. */
#define BOTH(name, statement)                \
    BATCH(name, statement)                   \
    static void name##_unrecorded(long n)    \
    {                                        \
        shmem_pcontrol(-1);                  \
        name(n);                             \
        shmem_pcontrol(1);                   \
    }

BOTH(put_word, shmem_long_p(longs, i, 1))
BOTH(put_bytes, shmem_putmem(heap, local, sizeof local, 1))
BOTH(fetch_add, sink += shmem_long_atomic_fetch_add(longs, 1, 1))
BOTH(get_word, sink += shmem_long_g(longs, 1))
BOTH(barrier_all, shmem_barrier_all())
BOTH(max_long, shmem_long_max_reduce(SHMEM_TEAM_WORLD, longs + 1, longs, 1))

void recorder(void)
{
    heap = symmetric(64);
    longs = symmetric(2 * sizeof *longs);
    if (!theirs(heap)) {
        row_on_0("get 8 B over TCP with the recorder", get_word_unrecorded, get_word);
        row_timed_by_0("barrier over TCP with the recorder", barrier_all_unrecorded, barrier_all);
    } else if (npes == 2) {
        row_on_0("p with the recorder", put_word_unrecorded, put_word);
        row_on_0("put 8 B with the recorder", put_bytes_unrecorded, put_bytes);
        row_on_0("fetch_add with the recorder", fetch_add_unrecorded, fetch_add);
        row("barrier with the recorder", barrier_all_unrecorded, barrier_all);
        row("max of 1 long with the recorder", max_long_unrecorded, max_long);
    } else {
        row("crowded barrier with the recorder", barrier_all_unrecorded, barrier_all);
        row("crowded max of 1 long with the recorder", max_long_unrecorded, max_long);
    }
}
