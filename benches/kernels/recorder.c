/* Calls beside which the library may record: the driver runs them with the recorder and without it, in turns. */
#include "bench.h"

static long *longs;
static char *heap, local[8];

BATCH(put_word, shmem_long_p(longs, i, 1))
BATCH(put_bytes, shmem_putmem(heap, local, sizeof local, 1))
BATCH_OF_VALUES(fetch_add, shmem_long_atomic_fetch_add(longs, 1, 1))
BATCH_OF_VALUES(get_word, shmem_long_g(longs, 1))
BATCH(barrier_all, shmem_barrier_all())
BATCH(max_long, shmem_long_max_reduce(SHMEM_TEAM_WORLD, longs + 1, longs, 1))

void recorder(void)
{
    heap = symmetric(64);
    longs = symmetric(2 * sizeof *longs);
    if (!theirs(heap)) {
        row_on_0("get 8 B over TCP with the recorder", NULL, get_word);
        row_timed_by_0("barrier over TCP with the recorder", NULL, barrier_all);
    } else if (npes == 2) {
        row_on_0("p with the recorder", NULL, put_word);
        row_on_0("put 8 B with the recorder", NULL, put_bytes);
        row_on_0("fetch_add with the recorder", NULL, fetch_add);
        row("barrier with the recorder", NULL, barrier_all);
        row("max of 1 long with the recorder", NULL, max_long);
    } else {
        row("crowded barrier with the recorder", NULL, barrier_all);
        row("crowded max of 1 long with the recorder", NULL, max_long);
    }
}
