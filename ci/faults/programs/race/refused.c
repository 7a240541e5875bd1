/* Calls whose arrays reach beyond the symmetric memory: the library refuses them, so they access nothing. The argument is the call. */
#include <shmem.h>
#include <stdint.h>
#include <string.h>

static long array[64], source[64], word;

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "";
    const size_t billions = UINT32_MAX;
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    long *block = shmem_calloc(64, sizeof *block);
    /* Nothing orders it and an access of the other PE. */
    shmem_long_p(&word, 1, next);
    if (!strcmp(call, "iput"))
        shmem_long_iput(array, source, 2, 1, billions, next);
    else if (!strcmp(call, "ibget"))
        shmem_long_ibget(source, block, 2, 3, 2, billions, next);
    else if (!strcmp(call, "put"))
        shmem_long_put(block, source, billions, next);
    else if (!strcmp(call, "reduce"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, array, source, billions);
    else if (!strcmp(call, "reduce_block"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, block, billions);
    else if (!strcmp(call, "alltoalls"))
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, array, source, 2, 2, billions);
    shmem_finalize();
    return 0;
}
