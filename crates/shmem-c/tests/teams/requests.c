/* Collectives that return at once. */
#include "membership.h"

#include <shmemx.h>

enum { LONG = 50000, SLOTS = 6 };
static long in[SLOTS][LONG], out[SLOTS][LONG];
static double sums[4], parts[4];
static long blocks[64 * 64], collected[64 * 64];

static void fill(long *array, size_t n, long first)
{
    for (size_t i = 0; i < n; i++) array[i] = first + (long) i;
}

TEST(EXT_30, "each nonblocking collective has the result of the one that waits")
{
    static const size_t counts[] = {0, 1, 5, 1000, LONG};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t n = counts[c];
        shmem_req_h request[SLOTS];
        for (int s = 0; s < SLOTS; s++) fill(in[s], n, me * 7 + s);
        memset(out, 0xff, sizeof out);
        shmem_barrier_all();
        int root = (int) c % npes;
        CHECK_EQ(shmemx_max_reduce_nb(SHMEM_TEAM_WORLD, out[0], in[0], n, &request[0]), 0);
        CHECK_EQ(shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, out[1], in[1], n, &request[1]), 0);
        CHECK_EQ(shmemx_broadcast_nb(SHMEM_TEAM_WORLD, out[2], in[2], n, root, &request[2]), 0);
        CHECK_EQ(shmemx_broadcastmem_nb(SHMEM_TEAM_WORLD, out[3], in[3], n * sizeof(long), npes - 1, &request[3]), 0);
        CHECK_EQ(shmemx_long_min_reduce_nb(SHMEM_TEAM_WORLD, out[4], in[4], n, &request[4]), 0);
        CHECK_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, &request[5]), 0);
        for (int s = SLOTS - 1; s >= 0; s--) {
            CHECK_EQ(shmem_req_wait(&request[s]), 0);
            CHECK(request[s] == SHMEM_REQ_INVALID);
        }
        for (size_t i = 0; i < n; i++) {
            long at = (long) i;
            CHECK_EQ(out[0][i], (npes - 1) * 7 + at);
            CHECK_EQ(out[1][i], npes * (npes - 1) / 2 * 7 + npes * (at + 1));
            CHECK_EQ(out[2][i], root * 7 + 2 + at);
            CHECK_EQ(out[3][i], (npes - 1) * 7 + 3 + at);
            CHECK_EQ(out[4][i], 4 + at);
        }
        shmem_barrier_all();
    }
}

TEST(EXT_30_blocks, "nonblocking collections and exchanges", .max_pes = 8)
{
    static const size_t sizes[] = {1, 8};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        size_t n = sizes[c];
        shmem_req_h request;
        fill(blocks, n * (size_t) npes, me * 1000);
        shmem_barrier_all();
        shmemx_fcollect_nb(SHMEM_TEAM_WORLD, collected, blocks, n, &request);
        while (shmem_req_test(&request)) continue;
        for (int pe = 0; pe < npes; pe++) CHECK_EQ(collected[(size_t) pe * n], pe * 1000);
        shmem_barrier_all();
        shmemx_alltoall_nb(SHMEM_TEAM_WORLD, collected, blocks, n, &request);
        shmem_req_wait(&request);
        for (int pe = 0; pe < npes; pe++) CHECK_EQ(collected[(size_t) pe * n], pe * 1000 + me * (long) n);
        shmem_barrier_all();
        shmemx_collectmem_nb(SHMEM_TEAM_WORLD, collected, blocks, (size_t) (me + 1) * sizeof(long), &request);
        shmem_req_wait(&request);
        for (int pe = 0, at = 0; pe < npes; at += ++pe) CHECK_EQ(collected[at], pe * 1000);
        shmem_barrier_all();
    }
}

TEST(EXT_30_tests, "a PE that only repeats a test does its part of a collective")
{
    static long ready, done;
    shmem_req_h request;
    int last = npes - 1;
    fill(in[0], LONG, me);
    ready = done = 0;
    shmem_barrier_all();
    if (me == last) {
        /* The others have entered, and only test from now on. */
        shmem_long_wait_until(&ready, SHMEM_CMP_EQ, last);
        shmemx_max_reduce_nb(SHMEM_TEAM_WORLD, out[0], in[0], LONG, &request);
        shmem_req_wait(&request);
        for (int pe = 0; pe < last; pe++) shmem_long_p(&done, 1, pe);
    } else {
        shmemx_max_reduce_nb(SHMEM_TEAM_WORLD, out[0], in[0], LONG, &request);
        shmem_long_atomic_inc(&ready, last);
        while (!shmem_long_test(&done, SHMEM_CMP_EQ, 1)) continue;
        shmem_req_wait(&request);
    }
    for (int i = 0; i < LONG; i++) CHECK_EQ(out[0][i], last + i);
    shmem_barrier_all();
}

TEST(EXT_31, "a request that has ended is invalid, and an invalid one counts as over")
{
    shmem_req_h request = SHMEM_REQ_INVALID;
    CHECK_EQ(shmem_req_test(&request), 0);
    CHECK_EQ(shmem_req_wait(&request), 0);
    static long go;
    shmem_req_h meeting;
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &meeting);
    while (shmemx_req_test(&meeting)) continue;
    CHECK(meeting == SHMEM_REQ_INVALID);
    shmem_barrier_all();
    if (npes > 1) {
        if (me == 0) {
            shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
            shmemx_sync_nb(SHMEM_TEAM_WORLD, &meeting);
        } else {
            shmemx_sync_nb(SHMEM_TEAM_WORLD, &meeting);
            /* PE 0 does not come before it is told to. */
            if (me == 1) {
                CHECK_EQ(shmem_req_test(&meeting), 1);
                shmem_long_p(&go, 1, 0);
            }
        }
        shmemx_req_wait(&meeting);
    }
}

TEST(EXT_31_null, "shmemx_req_wait ends the job in its own name where there is no handle", .aborts = 1,
     .says = "shmemx_req_wait|request")
{
    shmemx_req_wait(NULL);
}

TEST(EXT_32, "collectives of a team take place in the order of their calls, waiting or not")
{
    shmem_req_h request[3];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 4; i++) parts[i] = me + i + round;
        shmem_barrier_all();
        shmemx_double_sum_reduce_nb(SHMEM_TEAM_WORLD, &sums[0], &parts[0], 1, &request[0]);
        shmemx_double_max_reduce_nb(SHMEM_TEAM_WORLD, &sums[1], &parts[1], 1, &request[1]);
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &sums[2], &parts[2], 1);
        /* Those before it are over. */
        CHECK_EQ(shmem_req_test(&request[0]), 0);
        CHECK_EQ(shmem_req_test(&request[1]), 0);
        shmemx_barrier_all_nb(&request[2]);
        double all = npes * (npes - 1) / 2.0;
        CHECK(sums[0] == all + npes * round && sums[1] == npes + round && sums[2] == all + npes * (2 + round));
        shmem_req_wait(&request[2]);
    }
}

TEST(EXT_32_teams, "collectives of different teams do not wait for each other")
{
    shmem_team_t one, other;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &one);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &other);
    shmem_req_h first, second;
    /* Even and odd PEs issue them the other way round. */
    for (int round = 0; round < 20; round++) {
        shmemx_sync_nb(me % 2 ? one : other, &first);
        shmemx_sync_nb(me % 2 ? other : one, &second);
        shmem_req_wait(&first);
        shmem_req_wait(&second);
    }
    shmem_team_destroy(other);
    shmem_team_destroy(one);
}

TEST(EXT_32_many, "more collectives than may be under way, and a finalize that completes them")
{
    static long values[100], greatest[100];
    shmem_req_h request[100];
    fill(values, 100, me);
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        shmemx_long_max_reduce_nb(SHMEM_TEAM_WORLD, &greatest[i], &values[i], 1, &request[i]);
    for (int i = 0; i < 100; i++) {
        shmem_req_wait(&request[i]);
        CHECK_EQ(greatest[i], npes - 1 + i);
    }
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request[0]);
}
