/* Maximum of arrays over two PEs, out of place, beside a bare kernel in which each process combines its half of both
 * sources and writes the result to both destinations, between two bare barriers. */
#include "bench.h"

static void *source, *far_source, *dest, *far_dest;
static size_t count;

#define SLICES(type, all, slice_kernel)                                                              \
    static void slice_kernel##_once(void)                                                            \
    {                                                                                                \
        const size_t half = count / 2, from = me * half;                                             \
        const type *restrict a = (const type *)source + from, *restrict b = (const type *)far_source + from; \
        type *restrict x = (type *)dest + from, *restrict y = (type *)far_dest + from;               \
        flag_barrier();                                                                              \
        for (size_t i = 0; i < half; i++) {                                                          \
            type largest = a[i] > b[i] ? a[i] : b[i];                                                \
            x[i] = largest;                                                                          \
            y[i] = largest;                                                                          \
        }                                                                                            \
        flag_barrier();                                                                              \
    }                                                                                                \
    BATCH(slice_kernel, slice_kernel##_once())                                                       \
    BATCH(all, shmem_##type##_max_reduce(SHMEM_TEAM_WORLD, dest, source, count))

SLICES(int, max_int, slices_int)
SLICES(double, max_double, slices_double)

void reductions(void)
{
    static const struct { size_t count; const char *ints, *doubles; } sizes[] = {
        {1 << 10, "max of 1 Ki ints", "max of 1 Ki doubles"},
        {128 << 10, "max of 128 Ki ints", "max of 128 Ki doubles"},
        {1 << 20, "max of 1 Mi ints", "max of 1 Mi doubles"},
    };
    const size_t most = (1 << 20) * sizeof(double);
    source = symmetric(most);
    dest = symmetric(most);
    far_source = theirs(source);
    far_dest = theirs(dest);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        count = sizes[i].count;
        for (size_t at = 0; at < count; at++)
            ((int *)source)[at] = (int)(at * 7919 % 1000) + me;
        row(sizes[i].ints, slices_int, max_int);
        for (size_t at = 0; at < count; at++)
            ((double *)source)[at] = (double)(at * 7919 % 1000) + me;
        row(sizes[i].doubles, slices_double, max_double);
    }
}
