/* Static variables beside the symmetric heap: the same calls on both. */
#include "bench.h"

enum { BYTES = 64 << 10 };

static char *heap;
static char local[BYTES];
_Alignas(4096) static char fixed[BYTES];

BATCH(p_heap, shmem_long_p((long *)heap, i, 1))
BATCH(p_static, shmem_long_p((long *)fixed, i, 1))
BATCH_OF_VALUES(g_heap, shmem_long_g((long *)heap, 1))
BATCH_OF_VALUES(g_static, shmem_long_g((long *)fixed, 1))
BATCH_OF_VALUES(add_heap, shmem_long_atomic_fetch_add((long *)heap, 1, 1))
BATCH_OF_VALUES(add_static, shmem_long_atomic_fetch_add((long *)fixed, 1, 1))
BATCH(put_heap, shmem_putmem(heap, local, BYTES, 1))
BATCH(put_static, shmem_putmem(fixed, local, BYTES, 1))

void statics(void)
{
    heap = symmetric(BYTES);
    memset(fixed, 1, BYTES);
    row_on_0("static p beside heap", p_heap, p_static);
    row_on_0("static g beside heap", g_heap, g_static);
    row_on_0("static fetch_add beside heap", add_heap, add_static);
    row_on_0("static put 64 KiB beside heap", put_heap, put_static);
}
