/* Threads: the levels, and what several threads of a PE may do at the same time. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300 };

static int is_level(int level)
{
    return level == SHMEM_THREAD_SINGLE || level == SHMEM_THREAD_FUNNELED || level == SHMEM_THREAD_SERIALIZED
           || level == SHMEM_THREAD_MULTIPLE;
}

static void *query_level(void *result)
{
    shmem_query_thread(result);
    return NULL;
}

static void check_level(int requested)
{
    int provided = -1, queried = -2;
    pthread_t thread;
    CHECK_EQ(shmem_init_thread(requested, &provided), 0);
    CHECK(is_level(provided));
    shmem_query_thread(&queried);
    CHECK_EQ(queried, provided);
    queried = -2;
    pthread_create(&thread, NULL, query_level, &queried);
    pthread_join(thread, NULL);
    CHECK_EQ(queried, provided);
    shmem_barrier_all();
    shmem_finalize();
}

TEST(THR_1_order, "the level constants increase")
{
    CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED);
    CHECK(SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED);
    CHECK(SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
    int level = -1;
    shmem_query_thread(&level);
    CHECK(is_level(level));
}

TEST(THR_1_single, "init_thread with SINGLE", .bare = 1, .also = "THR-2") { check_level(SHMEM_THREAD_SINGLE); }
TEST(THR_1_funneled, "init_thread with FUNNELED", .bare = 1, .also = "THR-2") { check_level(SHMEM_THREAD_FUNNELED); }
TEST(THR_1_serialized, "init_thread with SERIALIZED", .bare = 1, .also = "THR-2") { check_level(SHMEM_THREAD_SERIALIZED); }
TEST(THR_1_multiple, "init_thread with MULTIPLE", .bare = 1, .also = "THR-2") { check_level(SHMEM_THREAD_MULTIPLE); }

TEST(THR_1_lives, "each life of the library may have a level of its own", .bare = 1)
{
    const int levels[] = {SHMEM_THREAD_MULTIPLE, SHMEM_THREAD_SINGLE, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_FUNNELED};
    for (int i = 0; i < 4; i++)
        check_level(levels[i]);
}

TEST(THR_3, "a nested init may ask for another level; the real one is reported", .bare = 1)
{
    int first = -1, second = -1, queried = -1;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &first), 0);
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &second), 0);
    CHECK(is_level(second));
    shmem_query_thread(&queried);
    CHECK_EQ(queried, second);
    shmem_finalize();
    shmem_finalize();
}

static void *whole_life(void *unused)
{
    static long x;
    int provided;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided), 0);
    me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_long_p(&x, 1 + me, right_pe());
    shmem_barrier_all();
    CHECK_EQ(x, 1 + left_pe());
    shmem_finalize();
    return unused;
}

/* A process that begins with threads cannot tell libfabric how many peers there are, and Soft-RoCE has no room for 256. */
TEST(THR_4, "the thread that initialises and finalises need not be the first one", .bare = 1, .env = "FI_UNIVERSE_SIZE=16")
{
    pthread_t thread;
    pthread_create(&thread, NULL, whole_life, NULL);
    pthread_join(thread, NULL);
}

/* The rest needs MULTIPLE; where the library gives less there is nothing to test. */
static int open_multiple(void)
{
    int provided;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe(), npes = shmem_n_pes();
    return provided == SHMEM_THREAD_MULTIPLE;
}

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    static int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, body, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static long slots[THREADS], answers[THREADS], sum, lock, guarded;
static shmem_ctx_t shared_context;

static void *transfer(void *number)
{
    int i = *(int *)number;
    for (long round = 1; round <= ROUNDS; round++) {
        const long value = round;
        shmem_ctx_long_put_nbi(shared_context, &slots[i], &value, 1, right_pe());
        shmem_ctx_quiet(shared_context);
        CHECK_EQ(shmem_long_g(&slots[i], right_pe()), round);
        shmem_long_atomic_add(&sum, i + 1, 0);
        CHECK(shmem_long_atomic_fetch(&sum, 0) > 0);
        shmem_fence();
    }
    return NULL;
}

TEST(THR_5_transfer, "threads put, get, count and quiet at once, on one context", .bare = 1, .also = "CTX-4")
{
    if (open_multiple()) {
        REQUIRE(shmem_ctx_create(0, &shared_context) == 0);
        shmem_barrier_all();
        run_threads(transfer);
        shmem_barrier_all();
        CHECK_EQ(shmem_long_g(&sum, 0), (long)ROUNDS * npes * THREADS * (THREADS + 1) / 2);
    }
    shmem_finalize();
}

/* Thread i of every PE plays ping-pong with thread i of its neighbours, all threads blocking in waits at once. */
static void *ping_pong(void *number)
{
    int i = *(int *)number;
    for (long round = 1; round <= ROUNDS; round++) {
        if ((i + me) % 2)
            shmem_long_p(&slots[i], round, right_pe());
        else
            shmem_long_atomic_set(&slots[i], round, right_pe());
        shmem_long_wait_until(&slots[i], SHMEM_CMP_GE, round);
        shmem_long_p(&answers[i], round, left_pe());
        shmem_long_wait_until(&answers[i], SHMEM_CMP_GE, round);
    }
    return NULL;
}

TEST(THR_5_waits, "several threads block in waits at once and none stops another", .bare = 1)
{
    if (open_multiple()) {
        shmem_barrier_all();
        run_threads(ping_pong);
    }
    shmem_finalize();
}

/* Each thread creates, uses and destroys contexts of its own. */
static void *own_contexts(void *number)
{
    int i = *(int *)number;
    for (long round = 1; round <= ROUNDS; round++) {
        shmem_ctx_t context;
        REQUIRE(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
        shmem_ctx_long_p(context, &slots[i], round, right_pe());
        shmem_ctx_destroy(context);
        CHECK_EQ(shmem_long_g(&slots[i], right_pe()), round);
    }
    return NULL;
}

TEST(THR_5_contexts, "threads create, use and destroy contexts at once", .bare = 1, .also = "CTX-6")
{
    if (open_multiple()) {
        shmem_barrier_all();
        run_threads(own_contexts);
        shmem_barrier_all();
    }
    shmem_finalize();
}

static atomic_int stop;

static void *keep_counting(void *unused)
{
    while (!atomic_load(&stop))
        shmem_long_atomic_inc(&sum, right_pe());
    return unused;
}

TEST(THR_5_lock, "a thread blocked in a lock leaves the other threads running", .bare = 1, .also = "LCK-7")
{
    if (open_multiple()) {
        pthread_t thread;
        pthread_create(&thread, NULL, keep_counting, NULL);
        for (int i = 0; i < ROUNDS; i++) {
            shmem_set_lock(&lock);
            shmem_long_p(&guarded, shmem_long_g(&guarded, 0) + 1, 0);
            shmem_clear_lock(&lock);
        }
        atomic_store(&stop, 1);
        pthread_join(thread, NULL);
        shmem_barrier_all();
        CHECK_EQ(shmem_long_g(&guarded, 0), ROUNDS * npes);
    }
    shmem_finalize();
}

TEST(THR_6, "one thread does barriers and heap calls while another transfers", .bare = 1, .also = "ORD-7")
{
    if (open_multiple()) {
        pthread_t thread;
        pthread_create(&thread, NULL, keep_counting, NULL);
        for (int i = 0; i < 200; i++) {
            long *block = shmem_malloc(1000);
            REQUIRE(block);
            shmem_long_p(block, i, right_pe());
            shmem_barrier_all();
            CHECK_EQ(*block, i);
            shmem_sync_all();
            shmem_free(block);
        }
        atomic_store(&stop, 1);
        pthread_join(thread, NULL);
    }
    shmem_finalize();
}

static void *issue(void *value)
{
    shmem_ctx_long_put_nbi(shared_context, &slots[0], value, 1, right_pe());
    shmem_ctx_long_atomic_add(shared_context, &slots[1], 1, right_pe());
    return NULL;
}

/* pthread_join orders the threads; the quiet of the first one covers what the other issued. */
TEST(THR_7, "quiet covers what other threads issued on the context before", .bare = 1)
{
    if (open_multiple()) {
        REQUIRE(shmem_ctx_create(0, &shared_context) == 0);
        for (long round = 1; round <= 100; round++) {
            pthread_t thread;
            long value = round;
            pthread_create(&thread, NULL, issue, &value);
            pthread_join(thread, NULL);
            shmem_ctx_quiet(shared_context);
            shmem_long_p(&answers[0], round, right_pe());
            shmem_long_wait_until(&answers[0], SHMEM_CMP_EQ, round);
            CHECK_EQ(slots[0], round);
            CHECK_EQ(slots[1], round);
            shmem_barrier_all();
        }
    }
    shmem_finalize();
}
