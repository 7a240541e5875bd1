/* Block transfers beside memcpy between the same addresses. */
#include "bench.h"

#include <stdio.h>

static char *heap, *far, *local;
static size_t size;

BATCH(memcpy_out, memcpy(far, local, size))
BATCH(memcpy_in, memcpy(local, far, size))
BATCH(put, shmem_putmem(heap, local, size, 1))
BATCH(get, shmem_getmem(local, heap, size, 1))

void copies(void)
{
    static const struct { size_t bytes; const char *name; } sizes[] = {
        {8, "8 B"}, {64, "64 B"}, {1 << 10, "1 KiB"}, {8 << 10, "8 KiB"},
        {64 << 10, "64 KiB"}, {256 << 10, "256 KiB"}, {1 << 20, "1 MiB"}, {4 << 20, "4 MiB"},
    };
    heap = symmetric(4 << 20);
    far = theirs(heap);
    local = aligned_alloc(4096, 4 << 20);
    memset(local, 1, 4 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[32];
        size = sizes[i].bytes;
        snprintf(name, sizeof name, "put %s", sizes[i].name);
        row_on_0(name, memcpy_out, put);
        snprintf(name, sizeof name, "get %s", sizes[i].name);
        row_on_0(name, memcpy_in, get);
    }
}
