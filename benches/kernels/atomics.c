/* Atomic memory operations beside the processor's own on the same word of the peer. */
#include "bench.h"

static long *heap, *far;

BATCH_OF_VALUES(raw_fetch_add, __atomic_fetch_add(far, 1, __ATOMIC_RELAXED))
BATCH_OF_VALUES(call_fetch_add, behind_call_fetch_add(far, 1, 1))
BATCH(raw_add, __atomic_fetch_add(far, 1, __ATOMIC_RELAXED))
BATCH_OF_VALUES(raw_swap, __atomic_exchange_n(far, i, __ATOMIC_RELAXED))
BATCH_OF_VALUES(raw_compare_swap, __sync_val_compare_and_swap(far, 0, 0))

BATCH_OF_VALUES(fetch_add, shmem_long_atomic_fetch_add(heap, 1, 1))
BATCH_OF_VALUES(fetch_inc, shmem_long_atomic_fetch_inc(heap, 1))
BATCH(inc, shmem_long_atomic_inc(heap, 1))
BATCH(add, shmem_long_atomic_add(heap, 1, 1))
BATCH_OF_VALUES(swap, shmem_long_atomic_swap(heap, i, 1))
BATCH_OF_VALUES(compare_swap, shmem_long_atomic_compare_swap(heap, 0, 0, 1))

void atomics(void)
{
    heap = symmetric(sizeof *heap);
    far = theirs(heap);
    row_on_0("fetch_add", raw_fetch_add, fetch_add);
    row_on_0("fetch_add beside a call", call_fetch_add, fetch_add);
    row_on_0("fetch_inc", raw_fetch_add, fetch_inc);
    row_on_0("inc", raw_add, inc);
    row_on_0("add", raw_add, add);
    row_on_0("swap", raw_swap, swap);
    row_on_0("compare_swap", raw_compare_swap, compare_swap);
}
