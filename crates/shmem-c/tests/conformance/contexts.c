/* Contexts. The put, get, atomic and signal forms on contexts are in the sections of those calls. */
#include "contexts.h"
#include <pthread.h>

TEST(CTX_1, "ctx_create is local: one PE alone may create and destroy")
{
    shmem_ctx_t context = SHMEM_CTX_INVALID;
    if (me == 0) {
        CHECK_EQ(shmem_ctx_create(0, &context), 0);
        CHECK(context != SHMEM_CTX_INVALID && context != SHMEM_CTX_DEFAULT);
        shmem_ctx_long_p(context, &target[0], 5, npes - 1);
        shmem_ctx_destroy(context);
    }
    shmem_barrier_all();
    if (me == npes - 1)
        CHECK_EQ(target[0], 5);
}

/* Contexts may run out; then the answer is nonzero and SHMEM_CTX_INVALID, and there is room again after a destroy. */
TEST(CTX_1_many, "a failed creation gives SHMEM_CTX_INVALID and leaves the library usable", .also = "CTX-3")
{
    enum { MANY = 5000 };
    static shmem_ctx_t contexts[MANY];
    int created = 0;
    for (int i = 0; i < MANY; i++) {
        int failed = shmem_ctx_create(0, &contexts[i]);
        CHECK_EQ(failed != 0, contexts[i] == SHMEM_CTX_INVALID);
        if (failed)
            break;
        created++;
    }
    CHECK(created > 0);
    if (created) {
        check_works(contexts[0], 10);
        check_works(contexts[created - 1], 20);
    }
    check_works(SHMEM_CTX_DEFAULT, 30);
    for (int i = 0; i < created; i++)
        shmem_ctx_destroy(contexts[i]);
    CHECK_EQ(shmem_ctx_create(0, &contexts[0]), 0);
    check_works(contexts[0], 40);
}

TEST(CTX_1_limit, "SHMEM_MAX_CTX: one more is refused, and there is room again after a destroy", .env = "SHMEM_MAX_CTX=3")
{
    shmem_ctx_t contexts[3], refused;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(shmem_ctx_create(0, &contexts[i]), 0);
    CHECK(shmem_ctx_create(0, &refused) != 0);
    CHECK(refused == SHMEM_CTX_INVALID);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &refused) != 0);
    CHECK(refused == SHMEM_CTX_INVALID);
    shmem_ctx_destroy(contexts[1]);
    CHECK_EQ(shmem_ctx_create(0, &contexts[1]), 0);
    for (int i = 0; i < 3; i++) {
        check_works(contexts[i], 10 * i);
        shmem_ctx_destroy(contexts[i]);
    }
}

TEST(CTX_1_lives, "contexts that are alive at the last finalize do not count in the next life", .bare = 1,
     .env = "SHMEM_MAX_CTX=2")
{
    for (int life = 0; life < 3; life++) {
        check_init();
        shmem_team_t team;
        shmem_ctx_t context;
        REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) == 0);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(shmem_team_create_ctx(team, 0, &context), 0);
        CHECK(shmem_team_create_ctx(team, 0, &context) != 0);
        shmem_finalize();
    }
}

TEST(CTX_1_recycled, "create and destroy in a loop does not run out")
{
    for (int i = 0; i < 20000; i++) {
        shmem_ctx_t context;
        REQUIRE(shmem_ctx_create(i % 2 ? SHMEM_CTX_SERIALIZED : 0, &context) == 0);
        shmem_ctx_long_p(context, &target[3], i, right_pe());
        shmem_ctx_destroy(context);
    }
    shmem_barrier_all();
    CHECK_EQ(target[3], 19999);
}

static shmem_ctx_t others_context;
static atomic_int stop;

static void *keep_issuing(void *unused)
{
    (void)unused;
    for (long i = 0; !atomic_load(&stop); i++)
        shmem_ctx_long_p(others_context, &target[5], i, right_pe());
    return NULL;
}

TEST(CTX_4, "quiet on one context does not wait for another on which a thread goes on issuing", .bare = 1,
     .also = "ORD-7 THR-5")
{
    int provided;
    pthread_t thread;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0 && shmem_ctx_create(0, &others_context) == 0);
    if (provided == SHMEM_THREAD_MULTIPLE)
        pthread_create(&thread, NULL, keep_issuing, NULL);
    for (long i = 1; i <= 100; i++) {
        shmem_ctx_long_p(context, &target[6], i, right_pe());
        shmem_ctx_quiet(context);
        shmem_quiet();
        shmem_barrier_all();
        CHECK_EQ(target[6], i);
        shmem_barrier_all();
    }
    atomic_store(&stop, 1);
    if (provided == SHMEM_THREAD_MULTIPLE)
        pthread_join(thread, NULL);
    shmem_finalize();
}

TEST(CTX_5, "destroy completes the context")
{
    static const long value = 9;
    shmem_ctx_t context;
    for (int i = 0; i < 100; i++) {
        target[7] = 0;
        shmem_barrier_all();
        REQUIRE(shmem_ctx_create(0, &context) == 0);
        shmem_ctx_long_put_nbi(context, &target[7], &value, 1, right_pe());
        shmem_ctx_destroy(context);
        CHECK_EQ(shmem_long_g(&target[7], right_pe()), 9);
        shmem_barrier_all();
    }
}

TEST(CTX_5_invalid, "destroying SHMEM_CTX_INVALID has no effect, and the default context survives")
{
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    check_works(SHMEM_CTX_DEFAULT, 60);
}

TEST(CTX_6, "options and their combinations are accepted, unknown bits are ignored")
{
    for (long options = 0; options < 8; options++) {
        shmem_ctx_t context;
        long bits = (options & 1 ? SHMEM_CTX_SERIALIZED : 0) | (options & 2 ? SHMEM_CTX_PRIVATE : 0)
                    | (options & 4 ? SHMEM_CTX_NOSTORE : 0);
        REQUIRE(shmem_ctx_create(bits, &context) == 0);
        check_works(context, 70 + options);
        shmem_ctx_destroy(context);
        REQUIRE(shmem_ctx_create(bits | 1L << 30, &context) == 0);
        check_works(context, 80 + options);
        shmem_ctx_destroy(context);
    }
}

TEST(CTX_7, "ctx_get_team tells the team the context was made from")
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t context;
    CHECK_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
    team = SHMEM_TEAM_INVALID;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    CHECK_EQ(shmem_ctx_get_team(context, &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
}

static shmem_ctx_t at_file_scope = SHMEM_CTX_DEFAULT;
static const shmem_ctx_t invalid_at_file_scope = SHMEM_CTX_INVALID;

TEST(CTX_9, "handles are plain values: copyable, comparable, usable as initialisers")
{
    shmem_ctx_t context, copy;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    copy = context;
    CHECK(copy == context && copy != at_file_scope && copy != invalid_at_file_scope);
    CHECK(at_file_scope == SHMEM_CTX_DEFAULT && SHMEM_CTX_DEFAULT != SHMEM_CTX_INVALID);
    check_works(copy, 90);
    check_works(at_file_scope, 95);
    shmem_ctx_destroy(copy);
}
