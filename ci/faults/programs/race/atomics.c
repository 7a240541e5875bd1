/* Atomics of several types, with plain accesses, and with operations that a quiet has to end. */
#include "cases.h"

#define DATA(name) static long name##_data[8]
static long near[8], flag[64];
static int turn;

/* PE 0 has done its part; PE 1 goes on after it. Without an order of the accesses it still comes later in time. */
static void then(int ordered)
{
    if (ordered)
        shmem_barrier_all();
}

DATA(int_and_long);
static void int_and_long(void)
{
    if (me == 0 || right)
        shmem_long_atomic_add(int_and_long_data, 1, 1); /* race */
    else
        shmem_int_atomic_add((int *)int_and_long_data, 1, 1); /* race */
}

DATA(int_and_float);
static void int_and_float(void)
{
    if (me == 0)
        shmem_int_atomic_set((int *)int_and_float_data, 1, 1); /* race */
    then(right);
    if (me == 1)
        shmem_float_atomic_set((float *)int_and_float_data, 1, 1); /* race */
}

DATA(long_and_double_fetched);
static void long_and_double_fetched(void)
{
    if (me == 0)
        shmem_long_atomic_fetch_add(long_and_double_fetched_data, 1, 1); /* race */
    then(right);
    if (me == 1)
        sink = (long)shmem_double_atomic_swap((double *)long_and_double_fetched_data, 1, 1); /* race */
}

DATA(two_types_of_one_origin);
static void two_types_of_one_origin(void)
{
    if (me == 0) {
        shmem_long_atomic_inc(two_types_of_one_origin_data, 1); /* race */
        if (right)
            shmem_fence();
        shmem_int_atomic_inc((int *)two_types_of_one_origin_data, 1); /* race */
    }
}

DATA(upper_half);
static void upper_half(void)
{
    if (me == 0)
        shmem_ulong_atomic_or((unsigned long *)upper_half_data, 1, 1); /* race */
    then(right);
    if (me == 1)
        shmem_int_atomic_inc((int *)upper_half_data + 1, 1); /* race */
}

DATA(signed_and_unsigned);
static void signed_and_unsigned(void)
{
    if (me == 0)
        shmem_ulong_atomic_inc((unsigned long *)signed_and_unsigned_data, 1); /* race */
    else if (right)
        shmem_long_atomic_inc(signed_and_unsigned_data, 1);
    else
        shmem_int32_atomic_inc((int32_t *)signed_and_unsigned_data, 1); /* race */
}

DATA(store_and_fetch);
static void store_and_fetch(void)
{
    if (me == 1)
        store_and_fetch_data[0] = 4; /* race */
    then(right);
    if (me == 0)
        sink = shmem_long_atomic_fetch(store_and_fetch_data, 1); /* race */
}

DATA(fetch_and_store);
static void fetch_and_store(void)
{
    if (me == 0)
        sink = shmem_long_atomic_fetch(fetch_and_store_data, 1); /* race */
    then(right);
    if (me == 1)
        fetch_and_store_data[0] = 4; /* race */
}

DATA(store_and_swap);
static void store_and_swap(void)
{
    if (me == 1)
        store_and_swap_data[0] = 4; /* race */
    then(right);
    if (me == 0)
        sink = shmem_long_atomic_compare_swap(store_and_swap_data, 0, 1, 1); /* race */
}

DATA(fetch_not_awaited);
static void fetch_not_awaited(void)
{
    if (me == 0) {
        shmem_long_atomic_fetch_nbi(near, fetch_not_awaited_data, 1); /* race */
        if (right)
            shmem_quiet();
    }
    shmem_sync_all();
    if (me == 1)
        fetch_not_awaited_data[0] = 5; /* race */
    shmem_quiet();
}

DATA(swap_not_awaited);
static void swap_not_awaited(void)
{
    if (me == 0) {
        shmem_long_atomic_compare_swap_nbi(near + 1, swap_not_awaited_data, 0, 1, 1); /* race */
        if (right)
            shmem_quiet();
    }
    shmem_sync_all();
    if (me == 1)
        swap_not_awaited_data[0] = 5; /* race */
    shmem_quiet();
}

DATA(add_not_awaited);
static void add_not_awaited(void)
{
    if (me == 0) {
        shmem_long_atomic_fetch_add_nbi(near + 2, add_not_awaited_data, 1, 1); /* race */
        if (right)
            shmem_quiet();
        shmem_long_p(add_not_awaited_data, 3, 1); /* race */
        shmem_quiet();
    }
}

DATA(add_and_load);
static void add_and_load(void)
{
    shmem_long_atomic_add(add_and_load_data, 1, 0); /* race */
    if (right)
        shmem_barrier_all();
    else
        shmem_sync_all();
    if (me == 0)
        sink = add_and_load_data[0]; /* race */
}

DATA(add_and_get);
static void add_and_get(void)
{
    if (me == 0)
        shmem_long_atomic_add(add_and_get_data, 1, 1); /* race */
    then(right);
    if (me == 1)
        sink = shmem_long_g(add_and_get_data, 1); /* race */
}

DATA(put_and_swap);
static void put_and_swap(void)
{
    if (me == 0)
        shmem_long_p(put_and_swap_data, 1, 1); /* race */
    then(right);
    if (me == 1)
        sink = shmem_long_atomic_swap(put_and_swap_data, 2, 1); /* race */
}

DATA(fetch_orders_no_store);
static void fetch_orders_no_store(void)
{
    /* PE 1 fetches a counter that PE 0 has not changed: it learns nothing. */
    if (me == 0) {
        fetch_orders_no_store_data[0] = 1; /* race */
        if (right)
            shmem_long_atomic_inc(flag + turn, 1);
    } else if (me == 1) {
        do
            sink = shmem_long_atomic_fetch(flag + turn, 1);
        while (right && sink == 0);
        sink = shmem_long_g(fetch_orders_no_store_data, 0); /* race */
    }
    turn++;
}

DATA(get_after_a_fence);
static void get_after_a_fence(void)
{
    if (me == 0) {
        shmem_long_get_nbi(near, get_after_a_fence_data, 4, 1); /* race */
        if (right)
            shmem_quiet();
        else
            shmem_fence();
        shmem_long_put(get_after_a_fence_data, flag + 32, 4, 1); /* race */
        shmem_quiet();
    }
}

DATA(context_after_a_barrier);
static void context_after_a_barrier(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0) {
        shmem_ctx_long_put(ctx, context_after_a_barrier_data, flag + 32, 4, 1); /* race */
        if (right)
            shmem_ctx_quiet(ctx);
    }
    shmem_barrier_all();
    if (me == 1)
        sink = context_after_a_barrier_data[2]; /* race */
    shmem_ctx_destroy(ctx);
}

DATA(bits_and_a_store);
static void bits_and_a_store(void)
{
    if (me == 0)
        shmem_uint64_atomic_xor((uint64_t *)bits_and_a_store_data, 6, 1); /* race */
    then(right);
    if (me == 1)
        bits_and_a_store_data[0] = 0; /* race */
}

DATA(atomic_of_a_context);
static void atomic_of_a_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0)
        shmem_ctx_long_atomic_add(ctx, atomic_of_a_context_data, 6, 1); /* race */
    if (right)
        shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    if (me == 1)
        sink = atomic_of_a_context_data[0]; /* race */
    shmem_ctx_destroy(ctx);
}

static const struct race_case cases[] = {
    CASE(int_and_long), CASE(int_and_float), CASE(long_and_double_fetched), CASE(two_types_of_one_origin),
    CASE(upper_half), CASE(signed_and_unsigned), CASE(store_and_fetch), CASE(fetch_and_store), CASE(store_and_swap),
    CASE(fetch_not_awaited), CASE(swap_not_awaited), CASE(add_not_awaited), CASE(add_and_load), CASE(add_and_get),
    CASE(put_and_swap), CASE(fetch_orders_no_store), CASE(get_after_a_fence), CASE(context_after_a_barrier),
    CASE(bits_and_a_store), CASE(atomic_of_a_context),
};
MAIN(cases)
