/* Collectives with requests, counting puts, blocks of varying sizes. */
#include "cases.h"

static long data, flag, table[64], copy[64], inbox[8];
static shmem_req_h request;

static void target_before_wait(void)
{
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, table, copy, 4, &request);
    if (right)
        shmem_req_wait(&request);
    sink = table[2];
    shmem_req_wait(&request);
}

static void source_before_wait(void)
{
    shmemx_long_broadcast_nb(SHMEM_TEAM_WORLD, table, copy, 4, 0, &request);
    if (right)
        shmem_req_wait(&request);
    if (me == 0)
        copy[3] = 7;
    shmem_req_wait(&request);
}

static void test_without_success(void)
{
    if (me > 0)
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1); /* so the first test of PE 0 fails */
    shmemx_long_fcollect_nb(SHMEM_TEAM_WORLD, table, copy, 1, &request);
    if (me == 0) {
        int open = shmem_req_test(&request);
        if (!right)
            sink = table[0];
        for (int pe = 1; pe < npes; pe++)
            shmem_long_p(&flag, 1, pe);
        while (open)
            open = shmem_req_test(&request);
        sink = table[0];
    }
    shmem_req_wait(&request);
}

static void put_into_a_target(void)
{
    shmemx_long_alltoall_nb(SHMEM_TEAM_WORLD, table, copy, 2, &request);
    if (right)
        shmem_req_wait(&request);
    shmem_sync_all();
    if (me == 1)
        shmem_long_p(table + 1, 5, 0);
    shmem_barrier_all();
    shmem_req_wait(&request);
}

static void get_of_a_target(void)
{
    shmemx_long_max_reduce_nb(SHMEM_TEAM_WORLD, table, copy, 2, &request);
    shmem_req_wait(&request);
    if (right)
        shmem_sync_all(); /* the collective is over here, not there */
    if (me == 0)
        sink = shmem_long_g(table, 1);
}

static void sync_not_awaited(void)
{
    if (me == 0) {
        shmem_long_p(&data, 1, 1);
        shmem_quiet();
    }
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    if (right)
        shmem_req_wait(&request);
    if (me == 1)
        sink = data;
    shmem_req_wait(&request);
}

static void sync_completes_no_put(void)
{
    if (me == 0)
        shmem_long_p(&data, 1, 1);
    if (right)
        shmemx_barrier_all_nb(&request);
    else
        shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    shmem_req_wait(&request);
    if (me == 1)
        sink = data;
}

static void wait_for_another_request(void)
{
    shmem_team_t other = SHMEM_TEAM_INVALID;
    shmem_req_h one, two;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &other);
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, table, copy, 4, &one);
    shmemx_long_sum_reduce_nb(other, table + 8, copy, 4, &two);
    shmem_req_wait(right ? &one : &two);
    table[1] = 3;
    shmem_req_wait(right ? &two : &one);
    shmem_team_destroy(other);
}

static void one_target_for_two(void)
{
    shmem_req_h one, two;
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, table, copy, 4, &one);
    if (right)
        shmem_req_wait(&one);
    shmemx_long_fcollect_nb(SHMEM_TEAM_WORLD, table, copy, 1, &two);
    shmem_req_wait(&two);
    shmem_req_wait(&one);
}

static void in_place(void)
{
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, table, table, 4, &request);
    if (right)
        shmem_req_wait(&request);
    table[0]++;
    shmem_req_wait(&request);
}

static void many_in_a_row(void)
{
    shmem_req_h requests[12];
    for (int i = 0; i < 12; i++) {
        copy[i] = me;
        shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, table + i, copy + i, 1, requests + i);
    }
    for (int i = 0; i < 12; i++) {
        if (right)
            shmem_req_wait(requests + i);
        sink = table[i];
        copy[i] = 0;
        shmem_req_wait(requests + i);
    }
    shmem_sync_all();
    shmem_long_p(table + me, 1, (me + 1) % npes);
}

static void put_that_is_not_counted(void)
{
    shmemx_ct_t count;
    shmemx_ct_create(&count);
    if (me == 0) {
        if (right)
            shmemx_putmem_ct(count, table, copy, 32, 1);
        else
            shmem_putmem(table, copy, 32, 1);
        shmemx_putmem_ct(count, table + 8, copy, 32, 1);
    } else if (me == 1) {
        shmemx_ct_wait(count, right ? 2 : 1);
        sink = table[2];
    }
    shmemx_ct_free(&count);
}

static void source_of_a_counted_get(void)
{
    shmemx_ct_t count;
    shmemx_ct_create(&count);
    if (me == 1)
        shmemx_getmem_ct(count, copy, table, 32, 0);
    if (me == 0) {
        if (right)
            shmemx_ct_wait(count, 1);
        table[3] = 4;
    }
    shmemx_ct_free(&count);
}

static size_t t_offsets[16], t_sizes[16], s_offsets[16], s_sizes[16], total;

static void blocks(void)
{
    for (int pe = 0; pe < npes; pe++) {
        s_sizes[pe] = (me + 1) * sizeof(long);
        t_offsets[pe] = pe * 4 * sizeof(long);
    }
    shmem_sync_all();
}

static void put_before_varying_blocks(void)
{
    blocks();
    if (me == 1)
        shmem_long_p(table + 8, 4, 0); /* where the block of PE 2 goes */
    if (right)
        shmem_barrier_all();
    shmemx_team_alltoallv(table, t_offsets, t_sizes, copy, s_offsets, s_sizes, SHMEM_TEAM_WORLD, NULL);
    sink = table[8];
}

static void varying_blocks_complete_no_put(void)
{
    static long pSync[SHMEM_ALLTOALL_SYNC_SIZE];
    blocks();
    if (me == 1) {
        shmem_long_p(&data, 4, 0);
        if (right)
            shmem_quiet();
    }
    shmemx_alltoallv(table, t_offsets, t_sizes, copy, s_offsets, s_sizes, 0, 0, npes, pSync);
    if (me == 0)
        sink = data;
}

static void get_of_packed_blocks(void)
{
    blocks();
    shmemx_team_alltoallv_packed(table, sizeof table, &total, copy, s_offsets, s_sizes, SHMEM_TEAM_WORLD, NULL);
    if (right)
        shmem_sync_all();
    if (me == 0)
        sink = shmem_long_g(table + 2, 1);
}

static void source_without_local_completion(void)
{
    if (me == 0) {
        shmem_long_put_nbi(table, copy, 8, 1);
        if (right)
            shmemx_local_complete();
        copy[2] = 9;
    }
}

static void exchange_by_turns(void)
{
    /* A solver's loop: the sum of the last step is awaited while this step's values go to the neighbours. */
    static long sums[2], parts[2];
    shmem_req_h requests[2] = {SHMEM_REQ_INVALID, SHMEM_REQ_INVALID};
    for (int step = 0; step < 6; step++) {
        int turn = step & 1;
        shmem_long_p(inbox + turn, step, (me + 1) % npes);
        shmem_barrier_all();
        shmem_req_wait(requests + turn);
        parts[turn] = inbox[turn] + sums[turn];
        shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, sums + turn, parts + turn, 1, requests + turn);
        if (!right)
            sink = sums[turn];
        shmem_sync_all();
    }
    shmem_req_wait(requests);
    shmem_req_wait(requests + 1);
}

static const struct race_case cases[] = {
    CASE(target_before_wait), CASE(source_before_wait), CASE(test_without_success), CASE(put_into_a_target),
    CASE(get_of_a_target), CASE(sync_not_awaited), CASE(sync_completes_no_put), CASE(wait_for_another_request),
    CASE(one_target_for_two), CASE(in_place), CASE(many_in_a_row), CASE(put_that_is_not_counted),
    CASE(source_of_a_counted_get), CASE(put_before_varying_blocks), CASE(varying_blocks_complete_no_put),
    CASE(get_of_packed_blocks), CASE(source_without_local_completion), CASE(exchange_by_turns),
};
MAIN(cases)
