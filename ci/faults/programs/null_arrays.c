/* Calls a collective with an array that is NULL: ARGUMENTS call, array. Without arguments: prints the names of the calls with dest and
 * source. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

static long source[64], dest[64];

static const char *const CALLS[] = {
    "shmem_long_sum_reduce", "shmem_long_max_reduce", "shmem_long_broadcast", "shmem_long_fcollect", "shmem_long_collect",
    "shmem_long_alltoall", "shmem_long_alltoalls", "shmem_long_sum_inscan", "shmem_long_sum_exscan",
};

int main(int argc, char **argv) {
    if (argc == 1) {
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) puts(CALLS[i]);
        return 0;
    }
    shmem_init();
    long *to = strcmp(argv[2], "dest") == 0 ? NULL : dest;
    long *from = strcmp(argv[2], "source") == 0 ? NULL : source;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    const char *call = argv[1];
#define IS(name) (strcmp(call, name) == 0)
    if (IS("shmem_long_sum_reduce")) shmem_long_sum_reduce(team, to, from, 4);
    else if (IS("shmem_long_max_reduce")) shmem_long_max_reduce(team, to, from, 1);
    else if (IS("shmem_long_broadcast")) shmem_long_broadcast(team, to, from, 4, 0);
    else if (IS("shmem_long_fcollect")) shmem_long_fcollect(team, to, from, 4);
    else if (IS("shmem_long_collect")) shmem_long_collect(team, to, from, 4);
    else if (IS("shmem_long_alltoall")) shmem_long_alltoall(team, to, from, 4);
    else if (IS("shmem_long_alltoalls")) shmem_long_alltoalls(team, to, from, 2, 2, 2);
    else if (IS("shmem_long_sum_inscan")) shmem_long_sum_inscan(team, to, from, 4);
    else if (IS("shmem_long_sum_exscan")) shmem_long_sum_exscan(team, to, from, 4);
    else if (IS("shmemx_team_alltoallv") || IS("shmemx_team_alltoallv_packed")) {
        static size_t sizes[64], offsets[64], t_sizes[64], t_offsets[64], t_size;
        size_t *of = strcmp(argv[2], "t_offsets") == 0 ? NULL : t_offsets, *size = strcmp(argv[2], "t_sizes") == 0 ? NULL : t_sizes;
        if (IS("shmemx_team_alltoallv")) shmemx_team_alltoallv(to, of, size, from, offsets, sizes, team, NULL);
        else shmemx_team_alltoallv_packed(to, sizeof dest, strcmp(argv[2], "t_size") == 0 ? NULL : &t_size, from, offsets, sizes, team, NULL);
    }
    else if (IS("shmem_ctx_create")) shmem_ctx_create(0, NULL);
    else if (IS("shmem_team_create_ctx")) shmem_team_create_ctx(team, 0, NULL);
    else if (IS("shmem_ctx_get_team")) shmem_ctx_get_team(SHMEM_CTX_DEFAULT, NULL);
    else if (IS("shmem_query_thread")) shmem_query_thread(NULL);
    else if (IS("shmem_query_initialized")) shmem_query_initialized(NULL);
    else if (IS("shmem_info_get_version")) {
        int number, *minor = strcmp(argv[2], "minor") == 0 ? NULL : &number;
        shmem_info_get_version(minor ? NULL : &number, minor);
    }
    else if (IS("shmem_info_get_name")) shmem_info_get_name(NULL);
    else return 3;
    printf("%s has returned\n", call);
    shmem_finalize();
    return 0;
}
