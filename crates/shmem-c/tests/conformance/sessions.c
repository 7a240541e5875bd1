/* Sessions: hints that change no result, order or completion. */
#include "check.h"

static long target[16];

/* Puts in a session arrive by each of the calls that have to flush. */
static void check_results(shmem_ctx_t context)
{
    for (long round = 1; round <= 100; round++) {
        shmem_ctx_long_p(context, &target[0], round, right_pe());
        shmem_ctx_fence(context);
        shmem_ctx_long_atomic_set(context, &target[1], round, right_pe());
        shmem_ctx_long_atomic_inc(context, &target[2], right_pe());
        shmem_ctx_quiet(context);
        CHECK_EQ(shmem_ctx_long_g(context, &target[0], right_pe()), round);
        CHECK_EQ(shmem_ctx_long_atomic_fetch(context, &target[1], right_pe()), round);
        shmem_barrier_all();
        CHECK_EQ(target[0], round);
        CHECK_EQ(target[1], round);
        CHECK_EQ(target[2] % 100, round % 100);
        shmem_barrier_all();
    }
}

TEST(SES_1, "results are the same within a session")
{
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    shmem_ctx_session_config_t config = {.total_ops = 100};
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    check_results(context);
    shmem_ctx_session_stop(context);
    check_results(context);
    shmem_ctx_destroy(context);
}

TEST(SES_1_local, "starting and stopping is local")
{
    if (me == 0) {
        shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
        shmem_long_p(&target[3], 1, npes - 1);
    }
    if (me == npes - 1)
        shmem_long_wait_until(&target[3], SHMEM_CMP_EQ, 1);
}

TEST(SES_2, "start in a session, stop without one, NULL config and SHMEM_CTX_INVALID", .also = "CTX-8")
{
    shmem_ctx_t context;
    shmem_ctx_session_config_t config = {.total_ops = 10};
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    shmem_ctx_session_stop(context);
    shmem_ctx_session_start(context, 0, NULL, 0);
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_session_start(context, 0, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    check_results(context);
    shmem_ctx_session_stop(context);
    shmem_ctx_session_stop(context);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    check_results(context);
}

TEST(SES_3_default, "sessions on the default context")
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    check_results(SHMEM_CTX_DEFAULT);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

TEST(SES_3_poller, "a remote poller sees a put of a session that stays open")
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_long_p(&target[5], 1, right_pe());
    shmem_long_wait_until(&target[5], SHMEM_CMP_EQ, 1);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

TEST(SES_3_stop, "stop and barrier leave nothing behind")
{
    for (long round = 1; round <= 50; round++) {
        shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        for (int i = 0; i < 16; i++)
            shmem_long_p(&target[i], round, right_pe());
        if (round % 2)
            shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
        shmem_barrier_all();
        for (int i = 0; i < 16; i++)
            CHECK_EQ(target[i], round);
        shmem_barrier_all();
        shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    }
}

TEST(SES_4, "total_ops may be wrong without harm")
{
    shmem_ctx_t context;
    const size_t wrong[] = {0, 1, SIZE_MAX};
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    for (int i = 0; i < 3; i++) {
        shmem_ctx_session_config_t config = {.total_ops = wrong[i]};
        shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
        check_results(context);
        shmem_ctx_session_stop(context);
    }
}
