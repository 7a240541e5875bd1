/* What a word of memory tells the PE that waits for it or fetches it: what its own writers knew, and nothing else. */
#include "cases.h"
#include <stdatomic.h>

enum { MANY = 150000 };
static long table[MANY], data, flag, turn, small_data, half_data, relaxed_data, stored_data;
static int halves[2];
static atomic_int loaded, stored;

/* More words than have clocks of their own. */
static void flood(int pe)
{
    for (long i = 0; i < MANY; i++)
        shmem_long_atomic_inc(&table[i], pe);
}

/* PE 2 waits for PE 1, which knows of PE 0 only if that has told it. */
static void flag_behind_a_flood(void)
{
    if (me == 0) {
        data = 7;
        flood(1);
        if (right)
            shmem_long_p(&turn, 1, 1);
    } else if (me == 1) {
        if (right)
            shmem_long_wait_until(&turn, SHMEM_CMP_EQ, 1);
        else
            sleep(1);
        shmem_long_p(&flag, 1, 2);
    } else {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = shmem_long_g(&data, 0);
    }
}

/* PE 1 waits for a word that has lost its clock to others. */
static void word_of_a_flood(void)
{
    if (me == 0) {
        if (right)
            small_data = 7;
        flood(1);
        if (!right)
            small_data = 7;
    } else if (me == 1) {
        shmem_long_wait_until(&table[0], SHMEM_CMP_GT, 0);
        shmem_long_wait_until(&table[MANY - 1], SHMEM_CMP_GT, 0);
        usleep(100000);
        sink = shmem_long_g(&small_data, 0);
    }
}

static void flags_of_four_bytes(void)
{
    if (me < 2) {
        shmem_long_put(me ? &flag : &half_data, &data, 1, 2);
        shmem_fence();
        shmem_int_p(&halves[me], 1, 2);
    } else {
        for (int i = 0; i < 2; i++)
            while (i == 0 || right ? !shmem_int_test(&halves[1 - i], SHMEM_CMP_EQ, 1) : (usleep(200000), 0))
                ;
        sink = half_data;
    }
}

static void load_without_order(void)
{
    if (me == 0) {
        atomic_int *there = shmem_ptr(&loaded, 1);
        long *far = shmem_ptr(&relaxed_data, 1);
        *far = 7;
        atomic_store_explicit(there, 1, memory_order_release);
    } else if (me == 1) {
        while (atomic_load_explicit(&loaded, memory_order_relaxed) == 0)
            ;
        if (right)
            atomic_thread_fence(memory_order_acquire);
        sink = relaxed_data;
    }
}

static void store_that_is_no_load(void)
{
    if (me == 0) {
        shmem_long_p(&stored_data, 1, 1);
        shmem_quiet();
        shmem_int_atomic_set((int *)&stored, 1, 1);
    } else if (me == 1) {
        usleep(200000);
        if (right)
            shmem_int_wait_until((int *)&stored, SHMEM_CMP_EQ, 1);
        else
            atomic_store_explicit(&stored, 2, memory_order_release);
        sink = stored_data;
    }
}

static const struct race_case cases[] = {
    CASE(flag_behind_a_flood), CASE(word_of_a_flood), CASE(flags_of_four_bytes), CASE(load_without_order),
    CASE(store_that_is_no_load),
};
MAIN(cases)
