/* Calls whose counts or strides, multiplied by the size of an element, leave size_t. The first argument names the call. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static long a[64], b[64] = {1, 2, 3};

static void unchanged(void)
{
    for (int i = 0; i < 64; i++)
        if (a[i] != 0)
            printf("a[%d] is %ld\n", i, a[i]);
}

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "";
    const size_t wraps = (size_t)1 << 61; /* longs of 2^64 bytes */
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    if (!strcmp(call, "reduce"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, a, b, wraps);
    else if (!strcmp(call, "reduce_some"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, a, b, wraps + 2);
    else if (!strcmp(call, "reduce_nb")) {
        shmem_req_h request;
        shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, a, b, wraps, &request);
        shmem_req_wait(&request);
    } else if (!strcmp(call, "scan"))
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, a, b, wraps);
    else if (!strcmp(call, "alltoalls"))
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, a, b, (ptrdiff_t)1 << 60, (ptrdiff_t)1 << 60, 17);
    else if (!strcmp(call, "iput"))
        shmem_long_iput(a + 32, b, PTRDIFF_MAX, 1, 3, next);
    else if (!strcmp(call, "iput_source"))
        shmem_long_iput(a, b + 32, 1, PTRDIFF_MAX, 3, next);
    else if (!strcmp(call, "iget"))
        shmem_long_iget(a, b, (ptrdiff_t)1 << 61, 1, 9, next);
    else if (!strcmp(call, "ibget"))
        shmem_long_ibget(a, b, (ptrdiff_t)1 << 61, 2, 1, 9, next);
    else if (!strcmp(call, "wait_until_all"))
        shmem_long_wait_until_all(a, wraps, NULL, SHMEM_CMP_EQ, 0);
    else if (!strcmp(call, "test_some")) {
        static size_t indices[64];
        shmem_long_test_some(a, wraps + 1, indices, NULL, SHMEM_CMP_EQ, 0);
    }
    unchanged();
    shmem_finalize();
    return 0;
}
