/* PEs with several threads. */
#include "cases.h"
#include <pthread.h>

static long table[64], copy[64], flags[8], total;
static uint64_t signals[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int arrived;

/* Runs `work` on two threads, with the numbers 0 and 1. */
static void on_two(void *(*work)(void *))
{
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(threads + i, NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static shmem_ctx_t contexts[2];

static void *half(void *number)
{
    intptr_t i = (intptr_t)number;
    shmem_ctx_t ctx = contexts[i];
    shmem_ctx_long_put(ctx, table + 8 * i, copy, 8, (me + 1) % npes);
    if (right)
        shmem_ctx_quiet(ctx);
    shmem_ctx_long_p(ctx, flags + i, 1, (me + 1) % npes);
    shmem_long_wait_until(flags + i, SHMEM_CMP_EQ, 1);
    sink = table[8 * i + 7];
    return NULL;
}

static void a_context_for_each_thread(void)
{
    for (int i = 0; i < 2; i++)
        shmem_ctx_create(0, contexts + i);
    on_two(half);
    for (int i = 0; i < 2; i++)
        shmem_ctx_destroy(contexts[i]);
}

static void *puts_of_one(void *number)
{
    intptr_t i = (intptr_t)number;
    for (int turn = 0; turn < 8; turn++)
        shmem_long_p(table + 8 * i + turn, turn, (me + 1) % npes);
    return NULL;
}

static void puts_of_threads_and_one_barrier(void)
{
    on_two(puts_of_one);
    if (right)
        shmem_barrier_all();
    else
        shmem_sync_all();
    sink = table[3] + table[11];
}

static void *relay(void *number)
{
    if (number == NULL) { /* hears of the data */
        shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 1);
        pthread_mutex_lock(&mutex);
        arrived = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    } else { /* reads it */
        pthread_mutex_lock(&mutex);
        while (!arrived)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < 8; i++)
            sink = table[right ? i : i + 8];
    }
    return NULL;
}

static void one_thread_waits_another_reads(void)
{
    if (me == 0) {
        shmem_long_put_signal(table, copy, 8, signals, 1, SHMEM_SIGNAL_SET, 1);
        shmem_long_put(table + 8, copy, 8, 1);
    } else if (me == 1)
        on_two(relay);
}

static void *adds(void *number)
{
    (void)number;
    for (int turn = 0; turn < 4; turn++) {
        pthread_mutex_lock(&mutex);
        while (right && shmem_long_atomic_compare_swap(flags, 0, 1, 0) != 0)
            ;
        shmem_long_p(&total, shmem_long_g(&total, 0) + 1, 0);
        shmem_quiet();
        shmem_long_atomic_set(flags, 0, 0);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void a_lock_of_threads_is_none_of_pes(void) { on_two(adds); }

static void loops_of_openmp(void)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 16; i++) {
        copy[i] = i;
        shmem_long_put_nbi(table + i, copy + i, 1, (me + 1) % npes);
    }
    if (right)
        shmem_barrier_all();
    long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 16; i++)
        sum += table[i];
    sink = sum;
}

/* Two teams, or two active sets, with the same members: threads of PEs call their collectives in different orders. */
static shmem_team_t teams[2];
static long syncs[2][SHMEM_BARRIER_SYNC_SIZE];
static int by_sets;

static void meet(intptr_t i)
{
    if (by_sets)
        shmem_sync(0, 0, npes, syncs[i]);
    else
        shmem_team_sync(teams[i]);
}

static void *meets(void *number)
{
    intptr_t i = (intptr_t)number;
    if (i == me % 2)
        usleep(20000);
    for (int turn = 0; turn < 8; turn++) {
        table[8 * i + turn] = turn;
        if (right)
            meet(i);
        sink = shmem_long_g(table + 8 * i + turn, (me + 1) % npes);
    }
    return NULL;
}

static void two_teams_of_the_same_members(void)
{
    for (int i = 0; i < 2; i++)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, teams + i);
    on_two(meets);
    for (int i = 0; i < 2; i++)
        shmem_team_destroy(teams[i]);
}

static void two_sets_of_the_same_members(void)
{
    for (int i = 0; i < 2 * SHMEM_BARRIER_SYNC_SIZE; i++)
        syncs[i / SHMEM_BARRIER_SYNC_SIZE][i % SHMEM_BARRIER_SYNC_SIZE] = SHMEM_SYNC_VALUE;
    by_sets = 1;
    shmem_barrier_all();
    on_two(meets);
}

static const struct race_case cases[] = {
    CASE(a_context_for_each_thread), CASE(puts_of_threads_and_one_barrier), CASE(one_thread_waits_another_reads),
    CASE(a_lock_of_threads_is_none_of_pes), CASE(loops_of_openmp), CASE(two_teams_of_the_same_members),
    CASE(two_sets_of_the_same_members),
};
MAIN(cases)
