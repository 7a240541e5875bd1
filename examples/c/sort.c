/* Bucket sort: every PE gets the keys of one range. PEs reserve room in each other's buckets with a fetching add and put their keys
 * there without asking anybody. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 20000 };

static long used;      /* keys in my bucket */
static long first, last_before, mine, all;

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    uint32_t state = 99u + (uint32_t)me, *keys = malloc(KEYS * sizeof *keys);
    uint32_t *bucket = shmem_malloc(sizeof *bucket * (size_t)KEYS * (size_t)n); /* the worst case: all keys in one range */
    if (!keys || !bucket)
        shmem_global_exit(1);
    for (int i = 0; i < KEYS; i++)
        keys[i] = state = state * 1664525u + 1013904223u;
    qsort(keys, KEYS, sizeof *keys, compare);

    /* Sorted keys lie together for each PE: one reservation and one put carry them. */
    for (int i = 0, end; i < KEYS; i = end) {
        int pe = (int)((uint64_t)keys[i] * (uint64_t)n >> 32);
        for (end = i; end < KEYS && (int)((uint64_t)keys[end] * (uint64_t)n >> 32) == pe; end++)
            ;
        long room = shmem_long_atomic_fetch_add(&used, end - i, pe);
        shmem_uint32_put(bucket + room, keys + i, (size_t)(end - i), pe);
    }
    shmem_barrier_all();
    qsort(bucket, (size_t)used, sizeof *bucket, compare);

    /* The largest key of the PE before mine is not larger than my smallest. */
    first = used ? (long)bucket[0] : -1;
    long largest = used ? (long)bucket[used - 1] : -1;
    if (me + 1 < n)
        shmem_long_p(&last_before, largest, me + 1);
    mine = used;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    shmem_barrier_all();
    if (all != (long)KEYS * n || (me > 0 && first >= 0 && last_before > first))
        shmem_global_exit(2);
    if (me == 0)
        printf("sorted %ld keys\n", all);
    shmem_free(bucket);
    free(keys);
    shmem_finalize();
    return 0;
}
