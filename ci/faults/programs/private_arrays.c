/* A collective of so many longs, on arrays that are not symmetric, or not long enough. Arguments: the call, the arrays ("malloc":
 * both are private, "dest": only the destination, "source": only the source, "static": static arrays of 256 longs), the count. */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long a[256], b[256] = {1};
#ifdef CONSTANTS
const long between[256] = {1};
#endif
static long sync_array[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *call = argv[1], *arrays = argv[2];
    const size_t n = strtoull(argv[3], NULL, 0);
    shmem_init();
    const int pes = shmem_n_pes();
    long *dest = a, *source = b;
    if (!strcmp(arrays, "malloc") || !strcmp(arrays, "dest"))
        dest = malloc(4096 * sizeof *dest);
    if (!strcmp(arrays, "malloc") || !strcmp(arrays, "source"))
        source = calloc(4096, sizeof *source);
    if (!strcmp(call, "reduce"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n);
    else if (!strcmp(call, "to_all"))
        shmem_long_sum_to_all(dest, source, (int)n, 0, 0, pes, work, sync_array);
    else if (!strcmp(call, "broadcast"))
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, 0);
    else if (!strcmp(call, "collect"))
        shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, n);
    else if (!strcmp(call, "fcollect"))
        shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n);
    else if (!strcmp(call, "alltoall"))
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n);
    else if (!strcmp(call, "alltoalls"))
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 1, n);
    else if (!strcmp(call, "scan"))
        shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, n);
    else if (!strcmp(call, "alltoallv")) {
        /* The two arrays are those of the offsets and of the sizes, which are 0, and the count has no meaning. */
        static size_t t_offsets[256], t_sizes[256];
        shmemx_team_alltoallv(a, t_offsets, t_sizes, b, (size_t *)dest, (size_t *)source, SHMEM_TEAM_WORLD, NULL);
    } else
        return 2;
    printf("accepted\n");
    shmem_finalize();
    return 0;
}
