/* One element put or got, and the ordering calls with nothing to order. */
#include "bench.h"

static long *heap, *far;
static long word;

BATCH(call_p, empty_p(heap, i, 1))
BATCH(call_p_rotating, empty_p(heap, i, i & 1))
BATCH(call_ctx_p, empty_ctx_p(SHMEM_CTX_DEFAULT, heap, i, 1))
BATCH_OF_VALUES(call_g, empty_g(heap, 1))
BATCH(call, empty_call())
BATCH(call_fence, behind_call_fence())
BATCH(store, *(volatile long *)far = i)
BATCH_OF_VALUES(load, *(volatile long *)far)
BATCH(copy_8, (memcpy(far, &i, sizeof i), atomic_thread_fence(memory_order_seq_cst)))

BATCH(p_heap, shmem_long_p(heap, i, 1))
BATCH(p_static, shmem_long_p(&word, i, 1))
BATCH(p_rotating, shmem_long_p(heap, i, i & 1))
BATCH(ctx_p, shmem_ctx_long_p(SHMEM_CTX_DEFAULT, heap, i, 1))
BATCH_OF_VALUES(g_heap, shmem_long_g(heap, 1))
BATCH_OF_VALUES(g_static, shmem_long_g(&word, 1))
BATCH(quiet, shmem_quiet())
BATCH(fence, shmem_fence())
BATCH(put_quiet, (shmem_long_put(heap, &i, 1, 1), shmem_quiet()))

void scalars(void)
{
    heap = symmetric(sizeof *heap);
    far = theirs(heap);
    row_on_0("p heap", call_p, p_heap);
    row_on_0("p static", call_p, p_static);
    row_on_0("p rotating PE", call_p_rotating, p_rotating);
    row_on_0("p with context", call_ctx_p, ctx_p);
    row_on_0("p beside a raw store", store, p_heap);
    row_on_0("g heap", call_g, g_heap);
    row_on_0("g static", call_g, g_static);
    row_on_0("g beside a raw load", load, g_heap);
    row_on_0("quiet idle", call, quiet);
    row_on_0("quiet beside a fence", call_fence, quiet);
    row_on_0("fence idle", call, fence);
    row_on_0("put 8 B and quiet", copy_8, put_quiet);
}
