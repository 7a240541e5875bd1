/* Waiting for and testing variables: every type, comparison, mask and result. */
// build:
// build: -DSHIFTED_NAMES
#include "places.h"
#include "waits.h"
#include <pthread.h>

enum { MOST = 8 };

static void store(const struct waits *w, void *ivars, size_t i, uint64_t value)
{
    memcpy((char *)ivars + i * w->size, &value, w->size);
}

static const struct { int cmp, less, equal, greater; } comparisons[] = {
    {SHMEM_CMP_EQ, 0, 1, 0}, {SHMEM_CMP_NE, 1, 0, 1}, {SHMEM_CMP_LT, 1, 0, 0},
    {SHMEM_CMP_LE, 1, 1, 0}, {SHMEM_CMP_GT, 0, 0, 1}, {SHMEM_CMP_GE, 0, 1, 1}};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

#define FOR_EACH_ROW_AND_PLACE(W, P)                                                                            \
    open_places();                                                                                              \
    FOR_EACH_WAIT(W)                                                                                            \
        FOR_EACH_PLACE(P)                                                                                       \
            if (check_row = W->name, check_place = P->name, 1)

/* The neighbours hold what would give another answer, were the width wrong. */
TEST(P2P_1, "signed types compare signed, unsigned types unsigned, in every type", .also = "SYM-1")
{
    FOR_EACH_ROW_AND_PLACE(w, place) {
        const uint64_t high = 1ull << (8 * w->size - 1), all = UINT64_MAX >> (64 - 8 * w->size);
        /* pairs in growing order */
        const uint64_t pairs[][2] = {{0, 1}, {2, high - 1}, {w->is_signed ? high : high - 1, w->is_signed ? high - 1 : high},
                                     {w->is_signed ? all : 1, w->is_signed ? 1 : all}, {high, all}, {high, high + 1}};
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            for (int c = 0; c < COMPARISONS; c++) {
                const uint64_t low = pairs[k][0], top = pairs[k][1];
                int cmp = comparisons[c].cmp;
                memset(place->bytes, GUARD, 64);
                store(w, place->bytes + 16, 0, low);
                CHECK_EQ(w->test(place->bytes + 16, cmp, top), comparisons[c].less);
                CHECK_EQ(w->test(place->bytes + 16, cmp, low), comparisons[c].equal);
                if (comparisons[c].less)
                    w->wait_until(place->bytes + 16, cmp, top);
                store(w, place->bytes + 16, 0, top);
                CHECK_EQ(w->test(place->bytes + 16, cmp, low), comparisons[c].greater);
                if (comparisons[c].greater)
                    w->wait_until(place->bytes + 16, cmp, low);
                CHECK(is_all(place->bytes, 16, GUARD) && is_all(place->bytes + 16 + w->size, 32, GUARD));
            }
    }
}

TEST(P2P_1_own_copy, "only the caller's copy is looked at")
{
    static int x;
    x = me;
    shmem_barrier_all();
    for (int v = 0; v < npes; v++)
        CHECK_EQ(shmem_int_test(&x, SHMEM_CMP_EQ, v), v == me);
    shmem_int_wait_until(&x, SHMEM_CMP_EQ, me);
}

/* Each kind of update in turn moves x to the next value; the right PE waits for it and sees the data put before. */
static void update(int kind, long *x, long *data, long value, int pe)
{
    long *there = shmem_ptr(x, pe);
    shmem_long_p(data, value, pe);
    shmem_fence();
    switch (kind) {
    case 0: shmem_long_atomic_set(x, value, pe); break;
    case 1: shmem_long_atomic_inc(x, pe); break;
    case 2: shmem_long_atomic_fetch_add(x, 1, pe); break;
    case 3: shmem_long_atomic_swap(x, value, pe); break;
    case 4: shmem_long_atomic_compare_swap(x, value - 1, value, pe); break;
    case 5: shmem_long_p(x, value, pe); break;
    case 6: shmem_long_put(x, &value, 1, pe); break;
    case 7: shmem_long_put_nbi(x, &value, 1, pe); break;
    case 8: shmem_long_put_signal(data, &value, 1, (uint64_t *)x, (uint64_t)value, SHMEM_SIGNAL_SET, pe); break;
    case 9: shmem_signal_add((uint64_t *)x, 1, pe); break;
    case 10: if (there) *(volatile long *)there = value; else shmem_long_p(x, value, pe); break;
    case 11: shmem_long_iput(x, &value, 1, 1, 1, pe); break;
    }
    shmem_quiet();
}
enum { KINDS = 12 };

static void check_wakeups(long *x, long *data)
{
    long value = 0;
    for (int repeat = 0; repeat < 20; repeat++)
        for (int kind = 0; kind < KINDS; kind++) {
            value++;
            if (kind == repeat % KINDS && me == 0)
                dawdle(3);
            update(kind, x, data, value, right_pe());
            shmem_long_wait_until(x, SHMEM_CMP_EQ, value);
            CHECK_EQ(*data, value);
            shmem_barrier_all();
        }
}

TEST(P2P_2, "a wait ends after every kind of update, and data ordered before it is there", .also = "SYM-1 P2P-3")
{
    static long box[2];
    check_wakeups(&box[0], &box[1]);
    long *heap = shmem_calloc(2, sizeof *heap);
    REQUIRE(heap);
    check_wakeups(&heap[0], &heap[1]);
}

static void *store_late(void *x)
{
    dawdle(20);
    shmem_int_atomic_set(x, 1, me);
    dawdle(20);
    *(volatile int *)((int *)x + 1) = 1;
    return NULL;
}

TEST(P2P_2_thread, "a wait ends after an update by another thread of the same PE", .bare = 1, .also = "THR-5")
{
    static int x[2];
    int provided;
    pthread_t thread;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe(), npes = shmem_n_pes();
    if (provided == SHMEM_THREAD_MULTIPLE) {
        pthread_create(&thread, NULL, store_late, x);
        shmem_int_wait_until(&x[0], SHMEM_CMP_EQ, 1);
        shmem_int_wait_until(&x[1], SHMEM_CMP_EQ, 1);
        pthread_join(thread, NULL);
    }
    shmem_finalize();
}

TEST(P2P_3, "PEs that wait leave the processor to those that work")
{
    static long token;
    for (long round = 1; round <= 200; round++) {
        if (me == 0) {
            shmem_long_p(&token, round, right_pe());
            shmem_long_wait_until(&token, SHMEM_CMP_EQ, round);
        } else {
            shmem_long_wait_until(&token, SHMEM_CMP_EQ, round);
            shmem_long_p(&token, round, right_pe());
        }
    }
}

TEST(P2P_4, "status masks elements and is never written")
{
    FOR_EACH_ROW_AND_PLACE(w, place) {
        if (!w->test_all)
            continue;
        static const int constant[4] = {0, 1, 0, -7};
        int status[4] = {0, 1, 0, -7};
        uint64_t values[MOST] = {0};
        size_t indices[4];
        for (size_t i = 0; i < 4; i++) {
            store(w, place->bytes, i, constant[i] ? 0 : 9);
            store(w, values, i, 9);
        }
        w->wait_until_all(place->bytes, 4, constant, SHMEM_CMP_EQ, 9);
        w->wait_until_all_vector(place->bytes, 4, status, SHMEM_CMP_EQ, values);
        CHECK_EQ(w->test_all(place->bytes, 4, status, SHMEM_CMP_EQ, 9), 1);
        CHECK_EQ(w->test_all_vector(place->bytes, 4, constant, SHMEM_CMP_EQ, values), 1);
        CHECK_EQ(w->test_all(place->bytes, 4, NULL, SHMEM_CMP_EQ, 9), 0);
        CHECK_EQ(w->test_any(place->bytes, 4, status, SHMEM_CMP_EQ, 0), SIZE_MAX);
        CHECK_EQ(w->test_some(place->bytes, 4, indices, status, SHMEM_CMP_EQ, 0), 0);
        CHECK_EQ(w->test_some(place->bytes, 4, indices, NULL, SHMEM_CMP_EQ, 0), 2);
        size_t any = w->wait_until_any(place->bytes, 4, status, SHMEM_CMP_EQ, 9);
        CHECK(any == 0 || any == 2);
        CHECK_EQ(w->wait_until_some(place->bytes, 4, indices, status, SHMEM_CMP_EQ, 9), 2);
        CHECK(indices[0] + indices[1] == 2 && indices[0] != indices[1]);
        CHECK(memcmp(status, constant, sizeof status) == 0);
    }
}

/* The results of every call on a set in which the elements of `satisfied` hold 9 and the others 4. */
static void check_results(const struct waits *w, void *ivars, size_t count, unsigned satisfied)
{
    _Alignas(8) unsigned char values[MOST * 8];
    size_t indices[MOST + 1], held = 0, seen;
    for (size_t i = 0; i < count; i++) {
        int yes = satisfied >> i & 1;
        held += (size_t)yes;
        /* The vector forms compare with a value per element. */
        store(w, values, i, 20 + i);
        store(w, ivars, i, yes ? 20 + i : 4);
    }
    for (int vector = 0; vector < 2; vector++) {
        int cmp = vector ? SHMEM_CMP_EQ : SHMEM_CMP_GT;
#define RESULT_OF(OP, ...) (vector ? w->OP##_vector(ivars, count, __VA_ARGS__ NULL, cmp, values)               \
                                   : w->OP(ivars, count, __VA_ARGS__ NULL, cmp, 10))
        CHECK_EQ(RESULT_OF(test_all, ), held == count);
        size_t any = RESULT_OF(test_any, );
        CHECK(held ? any < count && (satisfied >> any & 1) : any == SIZE_MAX);
        for (int blocking = 0; blocking < 2; blocking++) {
            if (blocking && !held)
                continue;
            indices[count] = 12345;
            size_t some = blocking ? RESULT_OF(wait_until_some, indices, ) : RESULT_OF(test_some, indices, );
            CHECK_EQ(some, held);
            seen = 0;
            for (size_t i = 0; i < some && some <= count; i++)
                if (indices[i] < count)
                    seen |= (size_t)1 << indices[i];
            CHECK_EQ(seen, satisfied);
            CHECK_EQ(indices[count], 12345);
        }
        if (held) {
            any = RESULT_OF(wait_until_any, );
            CHECK(any < count && (satisfied >> any & 1));
        }
        if (held == count) {
            RESULT_OF(wait_until_all, );
        }
    }
}

TEST(P2P_5, "results of test and wait for all, any and some, for every set of satisfied elements",
     .also = "P2P-6 P2P-8 P2P-9 SYM-1")
{
    FOR_EACH_ROW_AND_PLACE(w, place)
        for (size_t count = 1; w->test_all && count <= 5; count++)
            for (unsigned satisfied = 0; satisfied < 1u << count; satisfied++)
                check_results(w, place->bytes, count, satisfied);
}

TEST(P2P_5_empty, "results on empty sets: no elements, or all of them masked", .also = "SYM-9")
{
    static const int masked[3] = {1, 1, 1};
    FOR_EACH_ROW_AND_PLACE(w, place) {
        if (!w->test_all)
            continue;
        _Alignas(8) unsigned char values[64] = {0};
        size_t indices[3];
        memset(place->bytes, 0, 64);
        for (int empty = 0; empty < 2; empty++) {
            size_t count = empty ? 0 : 3;
            const int *status = empty ? NULL : masked;
            void *ivars = empty ? NULL : place->bytes;
            size_t *found = empty ? NULL : indices;
            const void *compared = empty ? NULL : values;
            w->wait_until_all(ivars, count, status, SHMEM_CMP_EQ, 5);
            w->wait_until_all_vector(ivars, count, status, SHMEM_CMP_NE, compared);
            CHECK_EQ(w->wait_until_any(ivars, count, status, SHMEM_CMP_EQ, 5), SIZE_MAX);
            CHECK_EQ(w->wait_until_any_vector(ivars, count, status, SHMEM_CMP_NE, compared), SIZE_MAX);
            CHECK_EQ(w->wait_until_some(ivars, count, found, status, SHMEM_CMP_EQ, 5), 0);
            CHECK_EQ(w->wait_until_some_vector(ivars, count, found, status, SHMEM_CMP_NE, compared), 0);
            CHECK_EQ(w->test_all(ivars, count, status, SHMEM_CMP_EQ, 5), 1);
            CHECK_EQ(w->test_all_vector(ivars, count, status, SHMEM_CMP_NE, compared), 1);
            CHECK_EQ(w->test_any(ivars, count, status, SHMEM_CMP_EQ, 0), SIZE_MAX);
            CHECK_EQ(w->test_any_vector(ivars, count, status, SHMEM_CMP_EQ, compared), SIZE_MAX);
            CHECK_EQ(w->test_some(ivars, count, found, status, SHMEM_CMP_EQ, 0), 0);
            CHECK_EQ(w->test_some_vector(ivars, count, found, status, SHMEM_CMP_EQ, compared), 0);
        }
    }
}

TEST(P2P_5_blocking, "waits for all, any and some end as their elements arrive", .also = "P2P-2 P2P-6")
{
    static long flags[64];
    static const int nobody[64];
    size_t indices[64];
    int left_over[64] = {0};
    for (long round = 1; round <= 50; round++) {
        if (round % 10 == me % 10)
            dawdle(2);
        for (int pe = 0; pe < npes; pe++)
            shmem_long_p(&flags[me], round, pe);
        memset(left_over, 0, sizeof left_over);
        if (round % 3 == 0)
            shmem_long_wait_until_all(flags, (size_t)npes, nobody, SHMEM_CMP_EQ, round);
        for (int seen = 0; round % 3 == 1 && seen < npes; seen++) {
            size_t i = shmem_long_wait_until_any(flags, (size_t)npes, left_over, SHMEM_CMP_EQ, round);
            CHECK(i < (size_t)npes && !left_over[i]);
            left_over[i] = 1;
        }
        for (int seen = 0; round % 3 == 2 && seen < npes;) {
            size_t count = shmem_long_wait_until_some(flags, (size_t)npes, indices, left_over, SHMEM_CMP_EQ, round);
            CHECK(count >= 1 && count <= (size_t)(npes - seen));
            for (size_t k = 0; k < count; k++) {
                CHECK(!left_over[indices[k]]);
                left_over[indices[k]] = 1;
            }
            seen += (int)count;
        }
        for (int pe = 0; pe < npes; pe++)
            CHECK_EQ(flags[pe], round);
        shmem_barrier_all();
    }
}

/* Element 0 stays satisfied; the others must be reported all the same. */
TEST(P2P_7, "any reports every satisfied element sooner or later", .also = "P2P-8")
{
    enum { ELEMENTS = 6, CALLS = 1000 };
    static int flags[ELEMENTS] = {1, 1, 0, 1, 1, 1};
    int values[ELEMENTS] = {1, 1, 1, 1, 1, 1};
    for (int form = 0; form < 4; form++) {
        int reported[ELEMENTS] = {0};
        for (int call = 0; call < CALLS; call++) {
            size_t i = form == 0   ? shmem_int_test_any(flags, ELEMENTS, NULL, SHMEM_CMP_EQ, 1)
                       : form == 1 ? shmem_int_wait_until_any(flags, ELEMENTS, NULL, SHMEM_CMP_EQ, 1)
                       : form == 2 ? shmem_int_test_any_vector(flags, ELEMENTS, NULL, SHMEM_CMP_EQ, values)
                                   : shmem_int_wait_until_any_vector(flags, ELEMENTS, NULL, SHMEM_CMP_EQ, values);
            REQUIRE(i < ELEMENTS);
            reported[i]++;
        }
        for (int i = 0; i < ELEMENTS; i++)
            CHECK(flags[i] ? reported[i] > 0 : reported[i] == 0);
    }
}

/* What is found in one array does not decide where the search of the next one begins. */
TEST(P2P_7_turns, "so does each of several arrays that are tested in turn")
{
    enum { ARRAYS = 3, ELEMENTS = 4, CALLS = 1000 };
    static int flags[ARRAYS][ELEMENTS] = {{1, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 1}};
    for (int arrays = 2; arrays <= ARRAYS; arrays++) {
        int reported[ARRAYS][ELEMENTS] = {{0}};
        for (int call = 0; call < CALLS; call++) {
            int array = call % arrays;
            size_t i = shmem_int_test_any(flags[array], ELEMENTS, NULL, SHMEM_CMP_EQ, 1);
            REQUIRE(i < ELEMENTS);
            reported[array][i]++;
        }
        for (int array = 0; array < arrays; array++)
            for (int i = 0; i < ELEMENTS; i++)
                CHECK(flags[array][i] ? reported[array][i] > 0 : reported[array][i] == 0);
    }
}

TEST(P2P_10, "an element that changed back may be missed, but a test of its present value is right")
{
    static long x;
    for (long i = 0; i < 100; i++) {
        shmem_long_atomic_set(&x, i, me);
        shmem_long_atomic_set(&x, -1, me);
        shmem_quiet();
        CHECK_EQ(shmem_long_test(&x, SHMEM_CMP_EQ, -1), 1);
        CHECK_EQ(shmem_long_test(&x, SHMEM_CMP_EQ, i), 0);
    }
}

#define WAIT_UNTIL_DIFFERENT(NAME, T)                                                                           \
    do {                                                                                                        \
        static T x;                                                                                             \
        shmem_barrier_all();                                                                                    \
        ROUTINE(NAME##_put)(&x, &(T){(T)-3}, 1, right_pe());                                                    \
        ROUTINE(NAME##_wait)(&x, 0);                                                                            \
        CHECK_EQ(x, (T)-3);                                                                                     \
        ROUTINE(NAME##_wait)(&x, 5);                                                                            \
    } while (0);

TEST(P2P_11, "the old wait calls wait until different from the value", .also = "LEG-2")
{
    WAIT_UNTIL_DIFFERENT(short, short) WAIT_UNTIL_DIFFERENT(int, int)
    WAIT_UNTIL_DIFFERENT(long, long) WAIT_UNTIL_DIFFERENT(longlong, long long)
    static long x;
    shmem_barrier_all();
    shmem_long_p(&x, 4, right_pe());
    ROUTINE(wait)(&x, 0);
    CHECK_EQ(x, 4);
    (ROUTINE(wait_until))(&x, SHMEM_CMP_GE, 4L);
}
