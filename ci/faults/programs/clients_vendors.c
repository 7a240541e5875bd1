/* What programs for Cray OpenSHMEMX and Sandia OpenSHMEM call. C and C++. */
#include <shmemx.h>
#include <stdio.h>

static int from[3], to[3];
static double wide_from[2], wide_to[2];
static long sync_array[SHMEM_BCAST_SYNC_SIZE];

static uint64_t thread_number(void)
{
    return 0;
}

int main(void)
{
    shmemx_ct_t ct;
    shmemx_register_gettid(thread_number);
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        sync_array[i] = SHMEM_SYNC_VALUE;
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes, ok = 1;
    for (int i = 0; i < 3; i++)
        from[i] = 10 * me + i;
    for (int i = 0; i < 2; i++)
        wide_from[i] = 10 * me + i;

    /* Of a team, of an active set with elements of 4 bytes, and of one with elements of 8. */
    shmem_barrier_all();
    shmemx_broadcast(SHMEM_TEAM_WORLD, to, from, 3, 1);
    ok &= to[0] == 10 && to[2] == 12;
    shmem_barrier_all();
    shmemx_broadcast(to, from, 3, 0, 0, 0, npes, sync_array);
    ok &= to[2] == (me == 0 ? 12 : 2);
    shmem_barrier_all();
    shmemx_broadcast(wide_to, wide_from, 2, 0, 0, 0, npes, sync_array);
    ok &= wide_to[1] > (me == 0 ? -0.5 : 0.5) && wide_to[1] < 1.5;

    shmem_barrier_all();
    shmemx_team_int_max_to_all(to, from, 3, SHMEM_TEAM_WORLD, NULL, NULL);
    ok &= to[2] == 10 * (npes - 1) + 2;

    shmemx_ct_create(&ct);
    shmemx_putmem_ct(ct, to, from, sizeof from, next);
    shmemx_ct_wait(ct, 1);
    ok &= to[1] == 10 * ((me + npes - 1) % npes) + 1 && shmemx_ct_get(ct) == 1;
    shmem_barrier_all();
    shmemx_ct_set(ct, 0);
    shmem_barrier_all();
    shmemx_getmem_ct(ct, to, from, sizeof from, next);
    shmemx_ct_wait(ct, 1);
    ok &= to[1] == 10 * next + 1;
    shmemx_ct_free(&ct);

    shmemx_pcntr_t counters;
    uint64_t issued;
    shmem_quiet();
    shmemx_pcntr_get_all(SHMEM_CTX_DEFAULT, &counters);
    shmemx_pcntr_get_issued_write(SHMEM_CTX_DEFAULT, &issued);
    ok &= counters.pending_put == 0 && counters.pending_get == 0 && counters.completed_put == issued;
    if (!ok)
        printf("PE %d: %d %d %d, %g\n", me, to[0], to[1], to[2], wide_to[1]);
    shmem_finalize();
    return !ok;
}
