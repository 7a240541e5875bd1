/* Collectives that return at once, in numbers and orders that other libraries do not take, and requests that are used wrongly. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10000

static long flag, values[MOST], sums[MOST];
static shmem_req_h requests[MOST];
static int me, pes;

static void fail(const char *what, long number)
{
    printf("PE %d: %s %ld\n", me, what, number);
    exit(3);
}

/* All are under way before any can end, because the last PE begins none until the others have begun all. */
static void many(int count, const char *order)
{
    if (me == pes - 1)
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, pes - 1);
    for (int i = 0; i < count; i++) {
        values[i] = i + me;
        if (i % 2)
            shmemx_sync_nb(SHMEM_TEAM_WORLD, &requests[i]);
        else
            shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, &sums[i], &values[i], 1, &requests[i]);
    }
    if (me < pes - 1)
        shmem_long_atomic_inc(&flag, pes - 1);
    static int turn[MOST];
    for (int i = 0; i < count; i++)
        turn[i] = strcmp(order, "backwards") ? i : count - 1 - i;
    if (!strcmp(order, "shuffled")) {
        srand(7 + me);
        for (int i = count - 1; i > 0; i--) {
            int j = rand() % (i + 1), other = turn[j];
            turn[j] = turn[i];
            turn[i] = other;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!strcmp(order, "tested"))
            while (shmem_req_test(&requests[turn[i]])) {}
        else
            shmem_req_wait(&requests[turn[i]]);
        if (requests[turn[i]] != SHMEM_REQ_INVALID) fail("a request has not ended:", turn[i]);
    }
    for (int i = 0; i < count; i += 2)
        if (sums[i] != (long)pes * i + pes * (pes - 1) / 2) fail("a wrong sum:", sums[i]);
}

static void never(int count)
{
    shmem_req_h request;
    for (int i = 0; i < count; i++) shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
}

static void *waits(void *request)
{
    shmem_req_h copy = *(shmem_req_h *)request;
    shmem_req_wait(&copy);
    return NULL;
}

static void twice(void)
{
    shmem_req_h request, copy;
    for (int i = 0; i < 1000; i++) {
        shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
        copy = request;
        if (i % 2)
            shmem_req_wait(&request);
        else
            while (shmem_req_test(&request)) {}
        /* The copy says that the collective is over, also when its place in a table has another one. */
        shmem_req_h next;
        shmemx_sync_nb(SHMEM_TEAM_WORLD, &next);
        shmem_req_h again = copy;
        if (shmem_req_test(&again) || shmem_req_wait(&copy)) fail("a copy is not over:", i);
        if (copy != SHMEM_REQ_INVALID) fail("a copy is still valid:", i);
        shmem_req_wait(&next);
    }
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
        copy = request;
        pthread_create(&thread, NULL, waits, &copy);
        shmem_req_wait(&request);
        pthread_join(thread, NULL);
    }
}

static void garbage(const char *what)
{
    shmem_req_h request;
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    if (!strcmp(what, "number")) request = (shmem_req_h)0xdeadbeef;
    if (!strcmp(what, "address")) request = (shmem_req_h)(void *)&request;
    if (!strcmp(what, "ones")) memset(&request, 0xff, sizeof request);
    if (!strcmp(what, "next")) request = (shmem_req_h)((char *)request + 77);
    if (!strcmp(what, "team")) request = (shmem_req_h)(void *)SHMEM_TEAM_WORLD;
    if (!strcmp(what, "null")) shmem_req_wait(NULL);
    shmem_req_wait(&request);
    fail("garbage is a request", 0);
}

int main(int argc, char **argv)
{
    int provided, count = argc > 2 ? atoi(argv[2]) : 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (!strcmp(argv[1], "many")) many(count, argv[3]);
    if (!strcmp(argv[1], "never")) never(count);
    if (!strcmp(argv[1], "twice")) twice();
    if (!strcmp(argv[1], "garbage")) garbage(argv[2]);
    shmem_finalize();
    if (me == 0) puts("done");
    return 0;
}
