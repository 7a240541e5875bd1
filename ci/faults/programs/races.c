/* Small programs with a race between PEs, and their corrected twins: `races CASE wrong`, `races CASE right`, `races list`. */
#include <shmem.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, npes, right;
static long data, flag, other_flag, counter, table[64], copy[64];
static uint64_t signal_a, signal_b;
static atomic_long language;
static long lock;
static volatile long sink;

/* What makes a case right or wrong, so that each case reads as one program. */
static void barrier_if_right(void)
{
    if (right)
        shmem_barrier_all();
    else
        shmem_sync_all();
}

static void put_then_load(void)
{
    if (me == 0)
        shmem_long_p(&data, 1, 1);
    barrier_if_right(); /* a sync completes no put */
    if (me == 1)
        sink = data;
}

static void store_then_get(void)
{
    if (me == 0)
        data = 7;
    if (right)
        shmem_sync_all();
    if (me == 1)
        sink = shmem_long_g(&data, 0);
}

static void two_puts(void)
{
    if (me < 2)
        for (int turn = 0; turn < 2; turn++) {
            if (turn == me)
                shmem_long_put(table, copy, 8, npes - 1);
            if (right)
                shmem_barrier_all();
        }
    else
        for (int turn = 0; turn < 2 && right; turn++)
            shmem_barrier_all();
}

static void flag_without_fence(void)
{
    if (me == 0) {
        shmem_long_put(table, copy, 8, 1);
        if (right)
            shmem_fence();
        shmem_long_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = table[3] + flag;
    }
}

static void fence_for_another_pe(void)
{
    if (me == 0) {
        shmem_long_p(&data, 1, 1);
        if (right)
            shmem_quiet();
        else
            shmem_fence(); /* orders puts to the same PE only */
        shmem_long_p(&flag, 1, 2);
    } else if (me == 2) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = shmem_long_g(&data, 1);
    }
}

static void source_changed_early(void)
{
    if (me == 0) {
        shmem_long_put_nbi(table, copy, 8, 1);
        if (right)
            shmem_quiet();
        copy[2] = 9;
    }
}

static void private_source_changed_early(void)
{
    long private[8] = {1};
    if (me == 0) {
        shmem_long_put_nbi(table, private, 8, 1);
        if (right)
            shmem_quiet();
        private[2] = 9;
        shmem_quiet();
    }
}

static void target_read_early(void)
{
    if (me == 0) {
        shmem_long_get_nbi(copy, table, 8, 1);
        if (right)
            shmem_quiet();
        sink = copy[2];
    }
}

static void get_after_own_put(void)
{
    if (me == 0) {
        shmem_long_p(&data, 3, 1);
        if (right)
            shmem_quiet();
        sink = shmem_long_g(&data, 1);
    }
}

static void next_iteration(void)
{
    for (int step = 0; step < 3; step++) {
        shmem_long_p(&table[me], step, (me + 1) % npes);
        shmem_barrier_all();
        sink = table[(me + npes - 1) % npes];
        if (right)
            shmem_sync_all(); /* everybody has read before anybody writes again */
    }
}

static void counter_read_plainly(void)
{
    shmem_long_atomic_inc(&counter, 0);
    if (right)
        shmem_barrier_all();
    if (me == 0)
        sink = counter;
}

static void counter_reset_plainly(void)
{
    if (me == 0)
        counter = 0;
    if (right)
        shmem_sync_all();
    shmem_long_atomic_add(&counter, 1, 0);
}

static void no_lock(void)
{
    if (right)
        shmem_set_lock(&lock);
    shmem_long_p(&data, shmem_long_g(&data, 0) + 1, 0);
    if (right)
        shmem_clear_lock(&lock);
}

static void source_of_a_reduction(void)
{
    static long sum;
    if (me == 1)
        shmem_long_p(&data, 5, 0);
    if (right)
        shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &data, 1);
}

static void target_of_a_broadcast(void)
{
    static long target;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &target, &data, 1, 0);
    if (right)
        shmem_sync_all();
    if (me == 0)
        sink = shmem_long_g(&target, 1); /* PE 1 may still be in the broadcast */
}

static void signal_for_other_data(void)
{
    if (me == 0) {
        shmem_long_put_signal(table, copy, 8, &signal_a, 1, SHMEM_SIGNAL_SET, 1);
        shmem_long_put_signal(table + 8, copy, 8, &signal_b, 1, SHMEM_SIGNAL_SET, 1);
    } else if (me == 1) {
        shmem_signal_wait_until(right ? &signal_a : &signal_b, SHMEM_CMP_EQ, 1);
        sink = table[2];
    }
}

static void put_before_a_signal(void)
{
    if (me == 0) {
        shmem_long_p(&data, 4, 1);
        if (right)
            shmem_fence();
        shmem_long_put_signal(table, copy, 8, &signal_a, 1, SHMEM_SIGNAL_ADD, 1); /* covers its own data only */
    } else if (me == 1) {
        shmem_signal_wait_until(&signal_a, SHMEM_CMP_GE, 1);
        sink = table[2] + data;
    }
}

static void wrong_flag(void)
{
    if (me == 0) {
        shmem_long_p(&other_flag, 1, 1);
        shmem_long_p(&data, 4, 1);
        shmem_fence();
        shmem_long_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(right ? &flag : &other_flag, SHMEM_CMP_EQ, 1);
        sink = data;
    }
}

static void sync_of_another_team(void)
{
    shmem_team_t pair = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
    if (me == 0) {
        shmem_long_p(&data, 1, right ? 1 : 2);
        shmem_quiet();
    }
    if (pair != SHMEM_TEAM_INVALID)
        shmem_team_sync(pair);
    if (me == (right ? 1 : 2))
        sink = data;
}

static void quiet_of_another_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0)
        shmem_ctx_long_p(ctx, &data, 1, 1);
    if (right)
        shmem_ctx_quiet(ctx);
    shmem_barrier_all(); /* completes the default context */
    if (me == 1)
        sink = data;
    shmem_ctx_destroy(ctx);
}

static void fence_on_no_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0) {
        shmem_ctx_long_p(ctx, &data, 1, 1);
        shmem_ctx_fence(right ? ctx : SHMEM_CTX_INVALID);
        shmem_ctx_long_p(ctx, &flag, 1, 1);
        shmem_ctx_quiet(ctx);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = data;
    }
    shmem_ctx_destroy(ctx);
}

static void store_through_a_pointer(void)
{
    long *there = shmem_ptr(&data, 1);
    if (me == 0)
        *there = 5;
    if (right)
        shmem_sync_all();
    if (me == 1)
        sink = data;
}

static void block_of_the_heap(void)
{
    long *block = shmem_malloc(100 * sizeof *block);
    if (me == 1)
        memset(block, 0, 100 * sizeof *block);
    if (right)
        shmem_barrier_all();
    if (me == 0)
        shmem_long_put(block + 3, copy, 2, 1);
    shmem_free(block);
}

static void strided_put(void)
{
    if (me == 0)
        shmem_long_iput(table, copy, 2, 1, 8, 1);
    if (me == 1)
        table[right ? 5 : 4] = 1; /* every other element is the put's */
}

static void fetch_read_early(void)
{
    long old = 0;
    shmem_long_atomic_fetch_add_nbi(&old, &counter, 1, 0);
    if (right)
        shmem_quiet();
    sink = old;
    shmem_quiet();
}

static void poll_without_wait(void)
{
    if (me == 0) {
        data = 6;
        if (right)
            atomic_store((atomic_long *)shmem_ptr(&language, 1), 1);
        else
            *(volatile long *)shmem_ptr(&flag, 1) = 1;
    } else if (me == 1) {
        if (right)
            while (atomic_load(&language) == 0)
                ;
        else
            while (*(volatile long *)&flag == 0)
                ;
        sink = shmem_long_g(&data, 0);
    }
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(put_then_load), CASE(store_then_get), CASE(two_puts), CASE(flag_without_fence), CASE(fence_for_another_pe),
    CASE(source_changed_early), CASE(private_source_changed_early), CASE(target_read_early), CASE(get_after_own_put),
    CASE(next_iteration), CASE(counter_read_plainly), CASE(counter_reset_plainly), CASE(no_lock),
    CASE(source_of_a_reduction), CASE(target_of_a_broadcast), CASE(signal_for_other_data), CASE(put_before_a_signal),
    CASE(wrong_flag), CASE(sync_of_another_team), CASE(quiet_of_another_context), CASE(fence_on_no_context),
    CASE(store_through_a_pointer), CASE(block_of_the_heap), CASE(strided_put), CASE(fetch_read_early), CASE(poll_without_wait),
};

int main(int argc, char **argv)
{
    right = argc > 2 && strcmp(argv[2], "right") == 0;
    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            puts(cases[i].name);
        return 0;
    }
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    shmem_finalize();
    return 0;
}
