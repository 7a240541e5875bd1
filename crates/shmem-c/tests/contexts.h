/* A context that works. */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "check.h"

static long target[64];

/* Puts, atomics, gets, completion on it. */
static void check_works(shmem_ctx_t context, long seed)
{
    shmem_barrier_all();
    shmem_ctx_long_p(context, &target[1], seed + me, right_pe());
    shmem_ctx_long_atomic_set(context, &target[2], seed - me, right_pe());
    shmem_ctx_quiet(context);
    CHECK_EQ(shmem_ctx_long_g(context, &target[1], right_pe()), seed + me);
    shmem_barrier_all();
    CHECK_EQ(target[1], seed + left_pe());
    CHECK_EQ(target[2], seed - left_pe());
}

#endif
