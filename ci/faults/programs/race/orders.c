/* The ways in which programs order accesses: flags, tests, locks by hand, signals, barriers, contexts. */
#include "cases.h"
#include <stdatomic.h>
#include <time.h>

enum { SLOTS = 16 };
static long data, flag, back, counter, serving, table[64], copy[64], flags[SLOTS], slots[SLOTS];
static uint64_t signal_a, signal_b;
static long lock, next_in_line, waiting, pSync[SHMEM_BARRIER_SYNC_SIZE], tail = -1;
static atomic_long language, gate;

static void fence_if_right(void)
{
    if (right)
        shmem_fence();
}

static void quiet_if_right(void)
{
    if (right)
        shmem_quiet();
}

/* PE 0 sends data, then a flag. */
static void send(int pe)
{
    shmem_long_put(table, copy, 8, pe);
    fence_if_right();
    shmem_long_p(&flag, 1, pe);
}

static void tests_until_true(void)
{
    if (me == 0)
        send(1);
    else if (me == 1) {
        while (!shmem_long_test(&flag, SHMEM_CMP_EQ, 1))
            ;
        sink = table[7];
    }
}

static void tests_until_false(void)
{
    if (me == 0)
        send(1);
    else if (me == 1) {
        while (shmem_long_test(&flag, SHMEM_CMP_EQ, 0))
            ;
        sink = table[7];
    }
}

static void tests_of_any_until_none(void)
{
    if (me == 0)
        send(1);
    else if (me == 1) {
        while (shmem_long_test_any(&flag, 1, NULL, SHMEM_CMP_EQ, 0) != SIZE_MAX)
            ;
        sink = table[7];
    }
}

static void tests_of_some_until_none(void)
{
    size_t found;
    if (me == 0)
        send(1);
    else if (me == 1) {
        while (shmem_long_test_some(&flag, 1, &found, NULL, SHMEM_CMP_EQ, 0) > 0)
            ;
        sink = table[7];
    }
}

static void tests_of_all_until_false(void)
{
    if (me == 0)
        send(1);
    else if (me == 1) {
        while (shmem_long_test_all(&flag, 1, NULL, SHMEM_CMP_EQ, 0))
            ;
        sink = table[7];
    }
}

static void everybody_sends(void)
{
    if (me == 0)
        return;
    shmem_long_p(slots + me, me, 0);
    shmem_fence();
    shmem_long_p(flags + me, 1, 0);
}

static void wait_for_some(void)
{
    int status[SLOTS] = {1, 0, !right};
    size_t indices[SLOTS];
    everybody_sends();
    for (int left = npes - 1 - !right; me == 0 && left > 0;) {
        size_t found = shmem_long_wait_until_some(flags, npes, indices, status, SHMEM_CMP_EQ, 1);
        for (size_t i = 0; i < found; i++, left--) {
            sink = slots[right ? indices[i] : 2];
            status[indices[i]] = 1;
        }
    }
}

static void test_any_of_them(void)
{
    int status[SLOTS] = {1, 0, !right};
    everybody_sends();
    for (int left = npes - 1 - !right; me == 0 && left > 0;) {
        size_t found = shmem_long_test_any(flags, npes, status, SHMEM_CMP_EQ, 1);
        if (found == SIZE_MAX)
            continue;
        sink = slots[right ? found : 2];
        status[found] = 1;
        left--;
    }
}

static void wait_for_all_but_one(void)
{
    int status[SLOTS] = {1, 0, !right};
    everybody_sends();
    if (me == 0) {
        shmem_long_wait_until_all(flags, npes, status, SHMEM_CMP_EQ, 1);
        sink = slots[1] + slots[2];
    }
}

static void test_a_vector(void)
{
    long wanted[SLOTS] = {0, 1, 1};
    everybody_sends();
    if (me == 0) {
        while (!shmem_long_test_all_vector(flags, right ? 3 : 2, NULL, SHMEM_CMP_EQ, wanted))
            ;
        sink = slots[1] + slots[2];
    }
}

static void add_one(void)
{
    long now = shmem_long_g(&data, 0);
    shmem_long_p(&data, now + 1, 0);
}

static void lock_by_compare_and_swap(void)
{
    for (int turn = 0; turn < 3; turn++) {
        while (shmem_long_atomic_compare_swap(&lock, 0, me + 1, 0) != 0)
            ;
        add_one();
        quiet_if_right();
        shmem_long_atomic_set(&lock, 0, 0);
    }
}

static void lock_by_tickets(void)
{
    for (int turn = 0; turn < 3; turn++) {
        long ticket = shmem_long_atomic_fetch_inc(&counter, 0);
        while (shmem_long_atomic_fetch(&serving, 0) != ticket)
            ;
        add_one();
        quiet_if_right();
        shmem_long_atomic_inc(&serving, 0);
    }
}

static void lock_by_a_queue(void)
{
    shmem_barrier_all();
    for (int turn = 0; turn < 3; turn++) {
        shmem_long_atomic_set(&next_in_line, -1, me);
        shmem_long_atomic_set(&waiting, 1, me);
        shmem_quiet();
        long before = shmem_long_atomic_swap(&tail, me, 0);
        if (before >= 0) {
            shmem_long_atomic_set(&next_in_line, me, before);
            shmem_long_wait_until(&waiting, SHMEM_CMP_EQ, 0);
        }
        add_one();
        quiet_if_right();
        if (shmem_long_atomic_fetch(&next_in_line, me) < 0) {
            if (shmem_long_atomic_compare_swap(&tail, me, -1, 0) == me)
                continue;
            shmem_long_wait_until(&next_in_line, SHMEM_CMP_GE, 0);
        }
        shmem_long_atomic_set(&waiting, 0, shmem_long_atomic_fetch(&next_in_line, me));
    }
}

static void lock_that_is_tested(void)
{
    while (shmem_test_lock(&lock) != 0)
        ;
    add_one();
    shmem_clear_lock(&lock);
    if (!right)
        shmem_long_p(&data, 0, 0);
}

static void barrier_of_an_active_set(void)
{
    if (me == 0)
        shmem_long_p(&data, 1, 2);
    if (me % 2 == 0 && right)
        shmem_barrier(0, 1, (npes + 1) / 2, pSync);
    if (me % 2 == 0 && !right)
        shmem_sync(0, 1, (npes + 1) / 2, pSync);
    if (me == 2)
        sink = data;
}

static void sync_of_a_team(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, npes - 1, NULL, 0, &team);
    if (me == 1) {
        shmem_long_p(&data, 1, 2);
        quiet_if_right();
    }
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_sync(team);
    if (me == 2)
        sink = data;
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_destroy(team);
}

static void flag_of_another_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
    if (me == 0) {
        shmem_ctx_long_put(ctx, table, copy, 8, 1);
        shmem_ctx_fence(ctx);
        if (right)
            shmem_ctx_long_p(ctx, &flag, 1, 1);
        else
            shmem_long_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = table[7];
    }
    shmem_ctx_destroy(ctx);
}

static void quiet_of_a_context(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0) {
        shmem_ctx_long_p(ctx, &data, 1, 1);
        if (right)
            shmem_ctx_quiet(ctx);
        else
            shmem_quiet();
        shmem_long_atomic_set(&flag, 1, 2);
    } else if (me == 2) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = shmem_long_g(&data, 1);
    }
    shmem_ctx_destroy(ctx);
}

static void quiet_of_one_pe(void)
{
    int target = right ? 1 : 2;
    if (me == 0) {
        shmem_long_p(&data, 1, 1);
        shmem_pe_quiet(&target, 1);
        shmem_long_p(&flag, 1, 2);
    } else if (me == 2) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = shmem_long_g(&data, 1);
    }
}

static void get_and_quiet_of_one_pe(void)
{
    int target = 1;
    if (me == 0) {
        shmem_long_get_nbi(table, copy, 8, 1);
        if (right)
            shmem_pe_quiet(&target, 1);
        shmem_long_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        copy[3] = 8;
        sink = shmem_long_g(table + 5, 0);
    }
    shmem_quiet();
}

static void contexts_of_a_team_that_ends(void)
{
    shmem_team_t team;
    shmem_ctx_t ctx;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
    shmem_team_create_ctx(team, 0, &ctx);
    if (me == 0)
        shmem_ctx_long_p(ctx, &data, 1, 1);
    if (right)
        shmem_team_destroy(team);
    shmem_sync_all();
    if (me == 1)
        sink = data;
    if (!right)
        shmem_team_destroy(team);
}

static void lock_of_the_language(void)
{
    atomic_long *there = shmem_ptr(&language, 0);
    long *here = shmem_ptr(&data, 0);
    for (int turn = 0; turn < 3; turn++) {
        long free = 0;
        while (right && !atomic_compare_exchange_weak(there, &free, 1))
            free = 0;
        *here += 1;
        atomic_store_explicit(there, 0, memory_order_release);
    }
}

static void flag_of_the_language(void)
{
    if (me == 0) {
        long *there = shmem_ptr(table, 1);
        there[3] = 8;
        if (right)
            atomic_store_explicit((atomic_long *)shmem_ptr(&gate, 1), 1, memory_order_release);
        else
            atomic_fetch_add((atomic_long *)shmem_ptr(&language, 1), 1);
    } else if (me == 1) {
        while (right && atomic_load_explicit(&gate, memory_order_acquire) == 0)
            ;
        sink = table[3];
    }
}

#ifdef __x86_64__
/* One of two words that are stored in one piece. */
static void flag_of_two_words(void)
{
    static unsigned __int128 pair;
    if (me == 0) {
        long *there = shmem_ptr(table, 1);
        there[3] = 8;
        __atomic_fetch_add((unsigned __int128 *)shmem_ptr(&pair, 1), (unsigned __int128)1 << 64, __ATOMIC_RELEASE);
    } else if (me == 1) {
        while (right && __atomic_load_n(&pair, __ATOMIC_ACQUIRE) >> 64 == 0)
            ;
        sink = table[3];
    }
}
#endif

static void pipeline_of_two_buffers(void)
{
    for (int step = 0; step < 6; step++) {
        long *buffer = table + step % 2 * 8;
        if (me == 0) {
            if (right && step > 1)
                shmem_signal_wait_until(&signal_b, SHMEM_CMP_GE, step - 1);
            shmem_long_put_signal(buffer, copy, 8, &signal_a, 1, SHMEM_SIGNAL_ADD, 1);
        } else if (me == 1) {
            shmem_signal_wait_until(&signal_a, SHMEM_CMP_GE, step + 1);
            for (int i = 0; i < 8; i++)
                sink = buffer[i];
            shmem_long_atomic_inc((long *)&signal_b, 0);
        }
    }
    if (me == 0 && !right) /* no signal tells PE 1 of this one */
        shmem_long_put(table, copy, 8, 1);
}

static void signal_seen_by_a_third(void)
{
    if (me == 0) {
        if (right)
            shmem_long_put_signal(table, copy, 8, &signal_a, 1, SHMEM_SIGNAL_SET, 1);
        else {
            shmem_long_put(table, copy, 8, 1);
            shmemx_signal_set(&signal_a, 1, 1);
        }
    } else if (me == 2) {
        while (shmem_uint64_atomic_fetch(&signal_a, 1) != 1)
            ;
        sink = shmem_long_g(table + 5, 1);
    }
}

static void signal_passed_on(void)
{
    if (me == 0)
        shmem_long_put_signal_nbi(table, copy, 8, &signal_a, 1, SHMEM_SIGNAL_SET, 1);
    if (me > 0 && (right || me != 1)) {
        while (shmem_signal_fetch(&signal_a) != 1)
            ;
        sink = table[4];
    }
    if (me > 0 && me + 1 < npes)
        shmem_long_put_signal(table, table, 8, &signal_a, 1, SHMEM_SIGNAL_SET, me + 1);
}

static void barrier_by_flags(void)
{
    shmem_long_p(slots + me, 1, (me + 2) % npes);
    quiet_if_right();
    for (int step = 1, round = 0; step < npes; step *= 2, round++) {
        shmem_long_p(flags + round, 1, (me + step) % npes);
        shmem_long_wait_until(flags + round, SHMEM_CMP_EQ, 1);
    }
    sink = slots[(me + npes - 2) % npes];
}

static void barrier_by_a_counter(void)
{
    for (int turn = 1; turn < 4; turn++) {
        shmem_long_p(slots + me, turn, npes - 1);
        quiet_if_right();
        shmem_long_atomic_inc(&counter, 0);
        if (me == 0) {
            shmem_long_wait_until(&counter, SHMEM_CMP_EQ, npes);
            shmem_long_atomic_set(&counter, 0, 0);
            shmem_quiet();
            for (int pe = 0; pe < npes; pe++)
                shmem_long_atomic_set(&flag, turn, pe);
        }
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, turn);
        sink = slots[1];
        shmem_sync_all();
    }
}

static void broadcast_from_the_writer(void)
{
    if (me == 0)
        data = 4;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, table, copy, 1, right ? 0 : 1);
    if (me == 2)
        sink = shmem_long_g(&data, 0);
}

static void scan_from_the_members_below(void)
{
    int writer = right ? 0 : 2;
    if (me == writer)
        data = 4;
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, table, copy, 1);
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, table, copy, 1);
    if (me == 1)
        sink = shmem_long_g(&data, writer);
}

static void source_used_again(void)
{
    if (me == 1) {
        shmem_long_get(copy, table, 8, 0);
        shmem_long_p(&back, 1, 0);
    } else if (me == 0) {
        if (right)
            shmem_long_wait_until(&back, SHMEM_CMP_EQ, 1);
        table[5] = 1;
    }
}

static void nonblocking_get_before_the_flag(void)
{
    if (me == 1) {
        shmem_long_get_nbi(copy, table, 8, 0);
        quiet_if_right();
        shmem_long_p(&back, 1, 0);
    } else if (me == 0) {
        shmem_long_wait_until(&back, SHMEM_CMP_EQ, 1);
        table[5] = 1;
    }
    shmem_quiet();
}

static void stripes(void)
{
    if (me < 2)
        shmem_long_iput(table + (right ? me : 0), copy, 2, 1, 8, 2);
    shmem_barrier_all();
    if (me == 2)
        sink = table[0] + table[1];
}

static void bytes_of_a_word(void)
{
    static char bytes[8];
    shmem_char_p(bytes + (right ? me : 0), 1, 0);
    shmem_barrier_all();
    if (me == 0)
        sink = bytes[1];
}

static uint64_t nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Two PEs store one flag each into a word of PE 0, as nearly at the same moment as the clock tells. The words are new in each round. */
static void flags_in_one_word(void)
{
    enum { ROUNDS = 400 };
    static _Alignas(8) int pairs[ROUNDS][2];
    static long ready, made[ROUNDS];
    static uint64_t moment;
    int (*there)[2] = shmem_ptr(pairs, 0);
    uint64_t at = 0;
    for (int round = 0; round < ROUNDS && me < 2; round++) {
        if (me == 0) {
            shmem_long_wait_until(&ready, SHMEM_CMP_GT, round);
            at = nanoseconds() + 20000;
            shmem_uint64_p(&moment, at, 1);
            at += (uint64_t)round * 7 % 200;
        } else {
            shmem_long_p(&ready, round + 1, 0);
            shmem_uint64_wait_until(&moment, SHMEM_CMP_GT, at);
            at = moment + 100;
            if (right)
                made[round] = round;
        }
        while (nanoseconds() < at)
            ;
        there[round][1 - me] = 1;
        if (me == 0) {
            shmem_int_wait_until(&pairs[round][0], SHMEM_CMP_EQ, 1);
            sink = shmem_long_g(&made[round], 1);
        } else if (!right) {
            shmem_long_p(&ready, round + 1, 0); /* what follows comes after the flag for the detector, too */
            made[round] = round;
        }
    }
}

static void tasks_from_a_counter(void)
{
    for (int turn = 0; turn < 4; turn++) {
        long task;
        if (right)
            task = shmem_long_atomic_fetch_inc(&counter, 0);
        else {
            task = shmem_long_g(&counter, 0);
            shmem_long_p(&counter, task + 1, 0);
            shmem_quiet();
        }
        shmem_long_p(table + task, me, 0);
    }
    shmem_barrier_all();
    if (me == 0)
        for (int task = 0; task < 4 * npes; task++)
            sink = table[task];
}

static void list_of_nodes(void)
{
    /* Each PE publishes its node by a swap of the head; the swapped-out PE's node is read by whoever got it. */
    data = 100 + me;
    long before = shmem_long_atomic_swap(&tail, me, 0);
    if (!right)
        data = 200 + me;
    if (before >= 0)
        sink = shmem_long_g(&data, before);
}

static void block_allocated_again(void)
{
    long *one = shmem_malloc(8 * sizeof *one);
    shmem_long_p(one + me, 1, 0);
    shmem_free(one);
    long *two = shmem_calloc(8, sizeof *two);
    if (me == 1)
        shmem_long_p(two, 1, 0);
    if (right)
        shmem_barrier_all();
    if (me == 0)
        sink = two[0];
    shmem_free(two);
}

void shpalloc_(void **block, const int32_t *words, int32_t *error, const int32_t *ends);
void shpclmove_(void **block, const int32_t *words, int32_t *status, const int32_t *ends);

static void block_of_fortran_that_grows(void)
{
    void *block = NULL;
    int32_t words = 16, more = 4096, status, yes = 1;
    shpalloc_(&block, &words, &status, &yes);
    if (me == 0)
        shmem_long_p((long *)block + 1, 7, 1);
    if (right)
        shpclmove_(&block, &more, &status, &yes);
    if (me == 1)
        sink = ((long *)block)[1];
}

static void blocking_put_source_used_again(void)
{
    if (me == 0)
        for (int i = 0; i < 4; i++) {
            copy[0] = i;
            if (right)
                shmem_long_put(table + 8 * i, copy, 8, 1);
            else
                shmem_long_put_nbi(table + 8 * i, copy, 8, 1);
        }
    shmem_barrier_all();
    if (me == 1)
        sink = table[24];
}

static void halo_exchange(void)
{
    int left = (me + npes - 1) % npes, next = (me + 1) % npes;
    for (int step = 1; step < 5; step++) {
        long *row = table + (step & 1) * 32;
        for (int i = 1; i < 15; i++)
            row[i] = step;
        shmem_long_put_signal(row, row + 14, 1, &signal_a, 1, SHMEM_SIGNAL_ADD, next);
        shmem_long_put_signal(row + 15, row + 1, 1, &signal_b, 1, SHMEM_SIGNAL_ADD, left);
        shmem_signal_wait_until(&signal_a, SHMEM_CMP_GE, step);
        if (right)
            shmem_signal_wait_until(&signal_b, SHMEM_CMP_GE, step);
        sink = row[0] + row[15];
        shmem_signal_wait_until(&signal_b, SHMEM_CMP_GE, step);
    }
}

static const struct race_case cases[] = {
    CASE(tests_until_true), CASE(tests_until_false), CASE(tests_of_any_until_none), CASE(tests_of_some_until_none),
    CASE(tests_of_all_until_false), CASE(wait_for_some), CASE(test_any_of_them), CASE(wait_for_all_but_one),
    CASE(test_a_vector), CASE(lock_by_compare_and_swap), CASE(lock_by_tickets),
    CASE(lock_by_a_queue), CASE(lock_that_is_tested), CASE(barrier_of_an_active_set), CASE(sync_of_a_team),
    CASE(flag_of_another_context), CASE(quiet_of_a_context), CASE(quiet_of_one_pe), CASE(get_and_quiet_of_one_pe),
    CASE(contexts_of_a_team_that_ends), CASE(lock_of_the_language), CASE(flag_of_the_language),
    CASE(pipeline_of_two_buffers), CASE(signal_seen_by_a_third), CASE(signal_passed_on),
    CASE(barrier_by_flags), CASE(barrier_by_a_counter), CASE(broadcast_from_the_writer),
    CASE(scan_from_the_members_below), CASE(source_used_again),
    CASE(nonblocking_get_before_the_flag), CASE(stripes), CASE(bytes_of_a_word), CASE(flags_in_one_word),
    CASE(tasks_from_a_counter), CASE(list_of_nodes), CASE(block_allocated_again), CASE(block_of_fortran_that_grows),
    CASE(blocking_put_source_used_again), CASE(halo_exchange),
#ifdef __x86_64__
    CASE(flag_of_two_words),
#endif
};
MAIN(cases)
