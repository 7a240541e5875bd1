/* Performance counters of Sandia OpenSHMEM: the operations that a context has given to the network. */
#include "membership.h"

#include <shmemx.h>

enum { MANY = 100 };
/* Each PE writes at places of its own. */
enum { LONGEST = 7, MOST_PES = 64 };
static long in[MOST_PES][LONGEST], there, counter;

TEST(EXT_17, "counters grow with the operations of their context that leave the node, and are equal after a quiet")
{
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    uint64_t issued, completed, target = 7;
    shmemx_pcntr_t all;
    shmemx_pcntr_get_all(ctx, &all);
    CHECK(all.pending_put + all.pending_get + all.completed_put + all.completed_get + all.target == 0);
    shmem_barrier_all();
    int far = -1;
    for (int pe = 0; pe < npes; pe++)
        if (!shmem_ptr(&there, pe)) far = pe;
    static long out[LONGEST];
    int pe = far < 0 ? (me + 1) % npes : far;
    for (int i = 0; i < MANY; i++) shmem_ctx_long_put_nbi(ctx, in[me], out, 1 + i % LONGEST, pe);
    long fetched[3];
    for (int i = 0; i < 3; i++) shmem_ctx_long_get_nbi(ctx, &fetched[i], &there, 1, pe);
    shmem_ctx_long_atomic_inc(ctx, &counter, pe);
    (void) shmem_ctx_long_atomic_fetch_inc(ctx, &counter, pe);
    shmemx_pcntr_get_issued_write(ctx, &issued);
    shmemx_pcntr_get_completed_write(ctx, &completed);
    CHECK_EQ(issued, (uint64_t) (far < 0 ? 0 : MANY + 1));
    CHECK(completed <= issued);
    shmemx_pcntr_get_issued_read(ctx, &issued);
    shmemx_pcntr_get_completed_read(ctx, &completed);
    CHECK_EQ(issued, (uint64_t) (far < 0 ? 0 : 4));
    CHECK(completed <= issued);
    shmem_ctx_quiet(ctx);
    shmemx_pcntr_get_all(ctx, &all);
    CHECK_EQ(all.pending_put + all.pending_get, (uint64_t) 0);
    CHECK_EQ(all.completed_put, (uint64_t) (far < 0 ? 0 : MANY + 1));
    CHECK_EQ(all.completed_get, (uint64_t) (far < 0 ? 0 : 4));
    shmemx_pcntr_get_completed_target(&target);
    CHECK_EQ(target, (uint64_t) 0);
    shmem_barrier_all();
    shmem_ctx_destroy(ctx);
}

TEST(EXT_17_apart, "contexts count apart")
{
    shmem_ctx_t ctx;
    REQUIRE(shmem_ctx_create(0, &ctx) == 0);
    uint64_t before, after;
    shmemx_pcntr_get_issued_write(SHMEM_CTX_DEFAULT, &before);
    for (int pe = 0; pe < npes; pe++) shmem_ctx_long_p(ctx, in[me], 1, pe);
    shmemx_pcntr_get_issued_write(SHMEM_CTX_DEFAULT, &after);
    CHECK_EQ(before, after);
    shmem_ctx_destroy(ctx);
}

TEST(EXT_17_invalid, "shmemx_pcntr_get_all ends the job for an invalid context", .aborts = 1,
     .says = "shmemx_pcntr_get_all|SHMEM_CTX_INVALID")
{
    shmemx_pcntr_t all;
    shmemx_pcntr_get_all(SHMEM_CTX_INVALID, &all);
}
