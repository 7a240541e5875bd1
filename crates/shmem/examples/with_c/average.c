/* A library in C that knows nothing of Rust. */

#include <shmem.h>

int average(double *mean, double value);

/* Stores the mean of everybody's value, and returns the number of PEs. */
int average(double *mean, double value)
{
    static double mine, sum;
    shmem_team_t everybody = SHMEM_TEAM_INVALID;
    int pes = shmem_n_pes();

    mine = value;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, 0, 0, &everybody);
    shmem_double_sum_reduce(everybody, &sum, &mine, 1);
    shmem_team_destroy(everybody);
    shmem_double_p(mean, sum / pes, shmem_my_pe());
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    return pes;
}
