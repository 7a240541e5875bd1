/* Atomics: every type and form, on heap and static memory, and their atomicity. */
// build:
// build: -DSHIFTED_NAMES
#include "places.h"
#include "atomics.h"
#include <shmemx.h>

enum { AT = 64 };
static const uint64_t SAMPLE = 0x9182A3B4C5D6E7F8u, OTHER = 0x0F1E2D3C4B5A6978u;

/* The element under test, with guards on both sides. */
static void put_element(const struct atomics *a, unsigned char *place, uint64_t value)
{
    memset(place, GUARD, 2 * AT);
    memcpy(place + AT, &value, a->size);
}

static uint64_t element(const struct atomics *a, const unsigned char *place)
{
    uint64_t value = 0;
    memcpy(&value, place + AT, a->size);
    return value;
}

static int guarded(const struct atomics *a, const unsigned char *place)
{
    return is_all(place, AT, GUARD) && is_all(place + AT + a->size, AT - a->size, GUARD);
}

/* One step in every element's life: I set my own, the left PE works on it, I look at the result. */
#define STEP(A, PLACE, BEFORE, WORK, AFTER)                                                                     \
    do {                                                                                                        \
        put_element(A, PLACE, BEFORE);                                                                          \
        shmem_barrier_all();                                                                                    \
        WORK;                                                                                                   \
        shmem_ctx_quiet(atomic_context);                                                                        \
        shmem_barrier_all();                                                                                    \
        CHECK_EQ(element(A, PLACE), held(A, AFTER));                                                            \
        CHECK(guarded(A, PLACE));                                                                               \
        shmem_barrier_all();                                                                                    \
    } while (0)

/* A nonblocking fetch delivers into a private variable, complete after quiet. */
#define FETCHED(A, RESULT, WORK, EXPECTED)                                                                      \
    do {                                                                                                        \
        uint64_t RESULT = 0;                                                                                    \
        WORK;                                                                                                   \
        shmem_ctx_quiet(atomic_context);                                                                        \
        shmem_quiet();                                                                                          \
        CHECK_EQ(RESULT, held(A, EXPECTED));                                                                    \
    } while (0)

#define FOR_EACH_ROW_AND_PLACE(A, P)                                                                            \
    REQUIRE(shmem_ctx_create(0, &atomic_context) == 0);                                                         \
    open_places();                                                                                              \
    FOR_EACH_ATOMIC(A)                                                                                          \
        FOR_EACH_PLACE(P)                                                                                       \
            if (check_row = A->name, check_place = P->name, 1)

TEST(AMO_1_exchange, "fetch, set and swap in every type and form", .also = "SYM-1 AMO-8")
{
    FOR_EACH_ROW_AND_PLACE(a, place) {
        unsigned char *x = place->bytes, *at = x + AT;
        int to = right_pe();
        STEP(a, x, SAMPLE, CHECK_EQ(a->fetch(at, to), held(a, SAMPLE)), SAMPLE);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->fetch_nbi(&r, at, to), SAMPLE), SAMPLE);
        STEP(a, x, 0, a->set(at, SAMPLE, to), SAMPLE);
        STEP(a, x, SAMPLE, CHECK_EQ(a->swap(at, OTHER, to), held(a, SAMPLE)), OTHER);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->swap_nbi(&r, at, OTHER, to), SAMPLE), OTHER);
    }
}

TEST(AMO_1_count, "inc, add and their fetching forms in every integer type and form", .also = "SYM-1 AMO-8 AMO-4")
{
    FOR_EACH_ROW_AND_PLACE(a, place) {
        if (!a->add)
            continue;
        unsigned char *x = place->bytes, *at = x + AT;
        int to = right_pe();
        STEP(a, x, SAMPLE, a->inc(at, to), SAMPLE + 1);
        STEP(a, x, SAMPLE, CHECK_EQ(a->fetch_inc(at, to), held(a, SAMPLE)), SAMPLE + 1);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->fetch_inc_nbi(&r, at, to), SAMPLE), SAMPLE + 1);
        STEP(a, x, SAMPLE, a->add(at, OTHER, to), SAMPLE + OTHER);
        STEP(a, x, SAMPLE, CHECK_EQ(a->fetch_add(at, OTHER, to), held(a, SAMPLE)), SAMPLE + OTHER);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->fetch_add_nbi(&r, at, OTHER, to), SAMPLE), SAMPLE + OTHER);
    }
}

TEST(AMO_1_bitwise, "and, or, xor and their fetching forms in every type and form that has them", .also = "SYM-1 AMO-8")
{
    const uint64_t after[3] = {SAMPLE & OTHER, SAMPLE | OTHER, SAMPLE ^ OTHER};
    FOR_EACH_ROW_AND_PLACE(a, place)
        for (int op = AND; op <= XOR && a->bitwise[0]; op++) {
            unsigned char *x = place->bytes, *at = x + AT;
            int to = right_pe();
            STEP(a, x, SAMPLE, a->bitwise[op](at, OTHER, to), after[op]);
            STEP(a, x, SAMPLE, CHECK_EQ(a->fetch_bitwise[op](at, OTHER, to), held(a, SAMPLE)), after[op]);
            STEP(a, x, SAMPLE, FETCHED(a, r, a->fetch_bitwise_nbi[op](&r, at, OTHER, to), SAMPLE), after[op]);
        }
}

/* Every PE adds through its own context and through the default one, on one counter of each PE. */
TEST(AMO_3, "updates through different contexts are atomic against each other")
{
    enum { ROUNDS = 2000 };
    static uint64_t counters[2];
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int pe = 0; pe < npes; pe++) {
            shmem_uint64_atomic_add(&counters[0], 1, pe);
            shmem_ctx_uint64_atomic_inc(context, &counters[0], pe);
            shmem_ctx_uint64_atomic_fetch_add(context, &counters[1], 3, pe);
            shmem_uint64_atomic_fetch_inc(&counters[1], pe);
        }
    shmem_ctx_destroy(context);
    shmem_barrier_all();
    CHECK_EQ(counters[0], 2 * ROUNDS * npes);
    CHECK_EQ(counters[1], 4 * ROUNDS * npes);
}

TEST(AMO_4_barrier, "a barrier completes atomics without result")
{
    static int sum[64];
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < 64; i++)
            shmem_int_atomic_add(&sum[i], i + 1, pe);
    shmem_barrier_all();
    for (int i = 0; i < 64; i++)
        CHECK_EQ(sum[i], (i + 1) * npes);
}

TEST(AMO_4_tickets, "a fetching atomic returns the old value: no two tickets are equal")
{
    enum { TICKETS = 500 };
    static int next;
    int *owner = shmem_malloc(sizeof(int) * TICKETS * (size_t)npes);
    REQUIRE(owner);
    memset(owner, 0, sizeof(int) * TICKETS * (size_t)npes);
    shmem_barrier_all();
    int before = -1;
    for (int i = 0; i < TICKETS; i++) {
        int ticket = shmem_int_atomic_fetch_inc(&next, 0);
        CHECK(ticket > before && ticket < TICKETS * npes);
        before = ticket;
        shmem_int_atomic_inc(&owner[ticket], 0);
    }
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < TICKETS * npes; i++)
        CHECK_EQ(owner[i], 1);
}

TEST(AMO_5, "overflow wraps in every integer type")
{
    FOR_EACH_ROW_AND_PLACE(a, place) {
        if (!a->add)
            continue;
        unsigned char *x = place->bytes, *at = x + AT;
        int to = right_pe();
        uint64_t top = a->size == 8 ? INT64_MAX : INT32_MAX, all = held(a, UINT64_MAX);
        STEP(a, x, top, a->inc(at, to), top + 1);
        STEP(a, x, all, a->inc(at, to), 0);
        STEP(a, x, top, CHECK_EQ(a->fetch_add(at, top, to), top), 2 * top);
        STEP(a, x, all, CHECK_EQ(a->fetch_inc(at, to), all), 0);
        STEP(a, x, top + 1, a->add(at, all, to), top);
    }
}

TEST(AMO_6, "float and double move bit by bit: NaN payloads and negative zero")
{
    const uint64_t wide[] = {0x7FF8000000ABCDEFu, 0xFFF8123400000001u, 0x8000000000000000u, 1};
    const uint64_t narrow[] = {0x7FC12345u, 0xFFE00001u, 0x80000000u, 1};
    FOR_EACH_ROW_AND_PLACE(a, place) {
        if (a->add || a->bitwise[0])
            continue;
        for (int i = 0; i < 4; i++) {
            unsigned char *x = place->bytes, *at = x + AT;
            int to = right_pe();
            uint64_t bits = a->size == 8 ? wide[i] : narrow[i];
            STEP(a, x, 0, a->set(at, bits, to), bits);
            STEP(a, x, bits, CHECK_EQ(a->fetch(at, to), bits), bits);
            STEP(a, x, bits, CHECK_EQ(a->swap(at, 0, to), bits), 0);
            STEP(a, x, 0, CHECK_EQ(a->swap(at, bits, to), 0), bits);
        }
    }
}

TEST(AMO_7, "compare_swap stores the value when the condition holds, and returns the old contents either way",
     .also = "AMO-8 SYM-1")
{
    FOR_EACH_ROW_AND_PLACE(a, place) {
        if (!a->add)
            continue;
        unsigned char *x = place->bytes, *at = x + AT;
        int to = right_pe();
        STEP(a, x, SAMPLE, CHECK_EQ(a->compare_swap(at, SAMPLE, OTHER, to), held(a, SAMPLE)), OTHER);
        STEP(a, x, SAMPLE, CHECK_EQ(a->compare_swap(at, OTHER, SAMPLE + 1, to), held(a, SAMPLE)), SAMPLE);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->compare_swap_nbi(&r, at, SAMPLE, OTHER, to), SAMPLE), OTHER);
        STEP(a, x, SAMPLE, FETCHED(a, r, a->compare_swap_nbi(&r, at, OTHER, SAMPLE + 1, to), SAMPLE), SAMPLE);
    }
}

/* Networks have no atomics of these widths: what lies in the same word of 4 bytes stays as it is. */
TEST(AMO_7_narrow, "atomics of one and two bytes, with negative conditions, leave their neighbours alone", .also = "SYM-1")
{
    static _Alignas(4) short words[4];
    static _Alignas(4) unsigned char bytes[8];
    int to = right_pe();
    for (int i = 0; i < 4; i++)
        words[i] = -1;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(10 + i);
    shmem_barrier_all();
    CHECK_EQ(shmemx_short_cswap(&words[1], -1, -2, to), -1);
    CHECK_EQ(shmemx_short_cswap(&words[1], -1, 7, to), -2);
    CHECK_EQ(shmemx_short_fadd(&words[2], 1, to), -1);
    CHECK_EQ(shmem_uchar_atomic_swap(&bytes[3], 200, to), 13);
    shmem_barrier_all();
    const short after[4] = {-1, -2, 0, -1};
    for (int i = 0; i < 4; i++)
        CHECK_EQ(words[i], after[i]);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(bytes[i], i == 3 ? 200 : 10 + i);
}

TEST(AMO_8, "nonblocking fetches deliver by quiet, many at a time")
{
    enum { MANY = 200 };
    static long counter;
    static long mine[MANY];
    for (int i = 0; i < MANY; i++) {
        mine[i] = -1;
        shmem_long_atomic_fetch_inc_nbi(&mine[i], &counter, 0);
    }
    shmem_quiet();
    for (int i = 0; i < MANY; i++)
        CHECK(mine[i] >= 0 && mine[i] < MANY * npes);
    for (int i = 0; i < MANY; i++)
        for (int j = i + 1; j < MANY; j++)
            CHECK(mine[i] != mine[j]);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_atomic_fetch(&counter, 0), MANY * npes);
}

TEST(AMO_9, "atomics on own memory are atomic against remote ones")
{
    enum { ROUNDS = 20000 };
    static unsigned int sum, bits;
    for (int i = 0; i < ROUNDS; i++) {
        shmem_uint_atomic_inc(&sum, 0);
        shmem_uint_atomic_fetch_xor(&bits, 1u << me, 0);
    }
    shmem_barrier_all();
    if (me == 0) {
        CHECK_EQ(sum, ROUNDS * npes);
        CHECK_EQ(bits, 0);
    }
}

#define OLD_NAMES_EXCHANGE(NAME, T)                                                                             \
    do {                                                                                                        \
        static T x;                                                                                             \
        x = (T)(me + 10);                                                                                       \
        shmem_barrier_all();                                                                                    \
        CHECK(ROUTINE(NAME##_fetch)(&x, right_pe()) == (T)(right_pe() + 10));                                   \
        CHECK(ROUTINE(NAME##_swap)(&x, (T)(me + 20), right_pe()) == (T)(right_pe() + 10));                      \
        shmem_barrier_all();                                                                                    \
        CHECK(x == (T)(left_pe() + 20));                                                                        \
        shmem_barrier_all();                                                                                    \
        ROUTINE(NAME##_set)(&x, (T)(me + 30), right_pe());                                                      \
        shmem_barrier_all();                                                                                    \
        CHECK(x == (T)(left_pe() + 30));                                                                        \
    } while (0);

#define OLD_NAMES_COUNT(NAME, T)                                                                                \
    do {                                                                                                        \
        static T x;                                                                                             \
        x = 100;                                                                                                \
        shmem_barrier_all();                                                                                    \
        CHECK_EQ(ROUTINE(NAME##_fadd)(&x, 5, right_pe()), 100);                                                 \
        CHECK_EQ(ROUTINE(NAME##_finc)(&x, right_pe()), 105);                                                    \
        ROUTINE(NAME##_inc)(&x, right_pe());                                                                    \
        ROUTINE(NAME##_add)(&x, -7, right_pe());                                                                \
        shmem_quiet();                                                                                          \
        CHECK_EQ(ROUTINE(NAME##_cswap)(&x, 100, -1, right_pe()), 100);                                          \
        CHECK_EQ(ROUTINE(NAME##_cswap)(&x, 100, -2, right_pe()), -1);                                           \
        shmem_barrier_all();                                                                                    \
        CHECK_EQ(x, -1);                                                                                        \
    } while (0);

TEST(AMO_10, "the deprecated names of the atomics", .also = "LEG-2")
{
    OLD_NAMES_EXCHANGE(int, int) OLD_NAMES_EXCHANGE(long, long) OLD_NAMES_EXCHANGE(longlong, long long)
    OLD_NAMES_EXCHANGE(float, float) OLD_NAMES_EXCHANGE(double, double)
    OLD_NAMES_COUNT(int, int) OLD_NAMES_COUNT(long, long) OLD_NAMES_COUNT(longlong, long long)
}

TEST(AMO_10_generic, "the deprecated type-generic names of the atomics", .also = "LEG-2")
{
    static long x = 100;
    shmem_barrier_all();
    CHECK_EQ(shmem_fetch(&x, right_pe()), 100);
    shmem_barrier_all();
    CHECK_EQ(shmem_fadd(&x, 5, right_pe()), 100);
    CHECK_EQ(shmem_finc(&x, right_pe()), 105);
    shmem_inc(&x, right_pe());
    shmem_add(&x, -7, right_pe());
    shmem_quiet();
    CHECK_EQ(shmem_cswap(&x, 100, -1, right_pe()), 100);
    CHECK_EQ(shmem_swap(&x, 8, right_pe()), -1);
    shmem_set(&x, 9, right_pe());
    shmem_barrier_all();
    CHECK_EQ(x, 9);
}

/* What the standard leaves undefined ends with a message that names call, PE or address. */
TEST(AMO_2_misaligned, "a misaligned atomic is refused", .also = "SYM-7", .aborts = 1, .says_once = "shmem_long_atomic_inc",
     .says = "align")
{
    static _Alignas(16) char bytes[32];
    if (me == 0)
        shmem_long_atomic_inc((long *)(void *)(bytes + 4 - 1), npes - 1);
    shmem_barrier_all();
}
