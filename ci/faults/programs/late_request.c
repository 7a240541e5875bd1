/* A PE comes to a nonblocking reduction later than a long wait takes to be known. There is one thread in each PE. */
#define _GNU_SOURCE
#include <shmem.h>
#include <shmemx.h>
#include <unistd.h>

static long mine[64], sums[64];

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    for (int i = 0; i < 64; i++)
        mine[i] = me + i;
    shmem_req_h request;
    if (me == 0)
        usleep(2500000);
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, sums, mine, 64, &request);
    shmem_req_wait(&request);
    for (int i = 0; i < 64; i++)
        if (sums[i] != npes * (npes - 1) / 2 + npes * i)
            return 3;
    shmem_finalize();
    return 0;
}
