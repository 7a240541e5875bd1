/* Reductions by size, over active sets and over teams, and scans. The sums are small whole numbers, which doubles hold exactly. */
#include "bench.h"

enum { MOST = 8 << 20 };

static long psync[2][SHMEM_REDUCE_SYNC_SIZE];
static void *source, *dest, *work[2];
static size_t size;
static int count;

#define CALLS(name, statement) static void name(long n) { for (long i = 0; i < n; i++) { statement; } }
CALLS(sum_set, shmem_double_sum_to_all(dest, source, count, 0, 0, npes, work[i & 1], psync[i & 1]))
CALLS(max_set, shmem_long_max_to_all(dest, source, count, 0, 0, npes, work[i & 1], psync[i & 1]))
#if VERSION >= 105
CALLS(sum_team, shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, (size_t)count))
CALLS(max_team, shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, (size_t)count))
#endif
#if VERSION >= 106
CALLS(inscan_team, shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, (size_t)count))
CALLS(exscan_team, shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, (size_t)count))
#endif

/* Element `at` of a PE. */
static long element(unsigned seed, int pe, int at) { return (long)((unsigned)at % 1000 + seed % 1000) + pe; }
/* The sum of an element over the PEs before `end`. */
static long sum_before(unsigned seed, int end, int at) { return end * element(seed, 0, at) + (long)end * (end - 1) / 2; }

static void clear_doubles(unsigned seed)
{
    for (int i = 0; i < count; i++) {
        ((double *)source)[i] = (double)element(seed, me, i);
        ((double *)dest)[i] = -1.0;
    }
}

static void clear_longs(unsigned seed)
{
    for (int i = 0; i < count; i++) {
        ((long *)source)[i] = element(seed, me, i);
        ((long *)dest)[i] = -1;
    }
}

static int sum_arrived(unsigned seed, long n)
{
    for (int i = 0; i < count; i++)
        if (((double *)dest)[i] != (double)sum_before(seed, npes, i))
            return 0;
    return (void)n, 1;
}

static int max_arrived(unsigned seed, long n)
{
    for (int i = 0; i < count; i++)
        if (((long *)dest)[i] != element(seed, npes - 1, i))
            return 0;
    return (void)n, 1;
}

#if VERSION >= 106
static int scan_arrived(unsigned seed, int end)
{
    for (int i = 0; i < count; i++)
        if (((long *)dest)[i] != sum_before(seed, end, i))
            return 0;
    return 1;
}
static int inscan_arrived(unsigned seed, long n) { return (void)n, scan_arrived(seed, me + 1); }
static int exscan_arrived(unsigned seed, long n) { return (void)n, scan_arrived(seed, me); }
#endif

void reductions(void)
{
    const size_t most = largest() < MOST ? largest() : MOST;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    source = symmetric(most);
    dest = symmetric(most);
    for (int i = 0; i < 2; i++)
        work[i] = symmetric(most + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double));
    for (int i = 0; i < size_count; i++) {
        /* Sizes come in any order. */
        if (sizes[i] > most)
            continue;
        size = sizes[i];
        count = (int)(size / 8);
        measure(&(struct row){"sum of doubles", "set", size, ALL, sum_set, 1, clear_doubles, sum_arrived, 1, 0});
        measure(&(struct row){"maximum of longs", "set", size, ALL, max_set, 1, clear_longs, max_arrived, 1, 0});
#if VERSION >= 105
        measure(&(struct row){"sum of doubles", "team", size, ALL, sum_team, 1, clear_doubles, sum_arrived, 1, 0});
        measure(&(struct row){"maximum of longs", "team", size, ALL, max_team, 1, clear_longs, max_arrived, 1, 0});
#endif
#if VERSION >= 106
        measure(&(struct row){"inclusive scan", "team", size, ALL, inscan_team, 1, clear_longs, inscan_arrived, 1, 0});
        measure(&(struct row){"exclusive scan", "team", size, ALL, exscan_team, 1, clear_longs, exscan_arrived, 1, 0});
#endif
    }
}
