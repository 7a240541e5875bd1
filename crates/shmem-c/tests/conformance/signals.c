/* Put with signal, and signals without data. */
// build:
// build: -DSHIFTED_NAMES
#include "places.h"
#include "transfers.h"

enum { AT = 64, COUNT = 5, WIDEST = 16, ROUNDS = 500 };

typedef void put_signal(void *dest, const void *source, size_t count, uint64_t *signal, uint64_t value, int op, int pe);

static _Alignas(64) uint64_t static_signal[3] = {1, 2, 3};
static uint64_t *heap_signal;

/* Data goes to `target` of the right PE, the signal to the middle word of `signal`, whose neighbours are guards. The
 * data is looked at as soon as the signal is there, without any barrier. */
static void check_put_signal(const struct transfers *t, put_signal *put, unsigned char *target, uint64_t *signal)
{
    _Alignas(WIDEST) unsigned char source[COUNT * WIDEST];
    size_t bytes = COUNT * t->size;
    const uint64_t sent = 0x8000000100000000u + (uint64_t)me, expected = 0x8000000100000000u + (uint64_t)left_pe();
    for (int op = 0; op < 2; op++) {
        memset(target, GUARD, ROOM);
        signal[0] = signal[1] = signal[2] = 5;
        shmem_barrier_all();
        fill(source, bytes, me);
        put(target + AT, source, COUNT, &signal[1], sent, op ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, right_pe());
        CHECK_EQ(shmem_signal_wait_until(&signal[1], SHMEM_CMP_NE, 5), op ? expected + 5 : expected);
        CHECK(is_all(target, AT, GUARD));
        CHECK(is_pattern(target + AT, bytes, left_pe()));
        CHECK(is_all(target + AT + bytes, ROOM - AT - bytes, GUARD));
        CHECK_EQ(signal[0], 5);
        CHECK_EQ(signal[2], 5);
        shmem_ctx_quiet(transfer_context);
        shmem_barrier_all();
    }
}

#define FOR_EACH_ROW_AND_PLACE(T, P)                                                                            \
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);                                                       \
    open_places();                                                                                              \
    heap_signal = shmem_calloc(3, sizeof *heap_signal);                                                         \
    REQUIRE(heap_signal);                                                                                       \
    FOR_EACH_TRANSFER(T)                                                                                        \
        FOR_EACH_PLACE(P)                                                                                       \
            if (check_row = T->name, check_place = P->name, 1)

TEST(SIG_2_put_signal, "when the signal is seen the data is there, in every form", .also = "SIG-1 SIG-3 SIG-9 SYM-1 SYM-3")
{
    FOR_EACH_ROW_AND_PLACE(t, place) {
        check_put_signal(t, t->put_signal, place->bytes, static_signal);
        check_put_signal(t, t->put_signal, place->bytes, heap_signal);
    }
}

TEST(SIG_2_put_signal_nbi, "the same for the nonblocking forms", .also = "SIG-8 SIG-9 SYM-1 SYM-3")
{
    FOR_EACH_ROW_AND_PLACE(t, place) {
        check_put_signal(t, t->put_signal_nbi, place->bytes, static_signal);
        check_put_signal(t, t->put_signal_nbi, place->bytes, heap_signal);
    }
}

TEST(SIG_2_lengths, "signal follows data at every length up to 4 MiB")
{
    size_t most = 4u << 20;
    static uint64_t there, back;
    unsigned char *target = shmem_malloc(most), *source = malloc(most);
    REQUIRE(target && source);
    uint64_t round = 0;
    for (size_t length = 1; length <= most; length *= 2) {
        round++;
        if (me == 0) {
            fill(source, length, (unsigned)round);
            if (round % 2)
                shmem_putmem_signal(target, source, length, &there, round, SHMEM_SIGNAL_SET, npes - 1);
            else
                shmem_putmem_signal_nbi(target, source, length, &there, round, SHMEM_SIGNAL_SET, npes - 1);
        }
        if (me == npes - 1) {
            shmem_signal_wait_until(&there, SHMEM_CMP_EQ, round);
            CHECK(is_pattern(target, length, (unsigned)round));
            shmem_signal_set(&back, round, 0);
        }
        if (me == 0) {
            shmem_signal_wait_until(&back, SHMEM_CMP_EQ, round);
            shmem_quiet();
        }
    }
    shmem_barrier_all();
    free(source);
}

TEST(SIG_2_zero, "a put of zero elements still updates the signal", .also = "SYM-9")
{
    FOR_EACH_ROW_AND_PLACE(t, place) {
        static_signal[1] = 0;
        memset(place->bytes, GUARD, ROOM);
        shmem_barrier_all();
        t->put_signal(place->bytes, NULL, 0, &static_signal[1], 3, SHMEM_SIGNAL_ADD, right_pe());
        t->put_signal_nbi(NULL, NULL, 0, &static_signal[1], 4, SHMEM_SIGNAL_ADD, right_pe());
        CHECK_EQ(shmem_signal_wait_until(&static_signal[1], SHMEM_CMP_EQ, 7), 7);
        shmem_ctx_quiet(transfer_context);
        shmem_barrier_all();
        CHECK(is_all(place->bytes, ROOM, GUARD));
    }
}

TEST(SIG_3, "SET stores and ADD adds modulo 2^64", .also = "SIG-1 SIG-7")
{
    static uint64_t signal;
    shmem_signal_set(&signal, UINT64_MAX, right_pe());
    shmem_quiet();
    shmem_signal_add(&signal, 2, right_pe());
    shmem_barrier_all();
    CHECK_EQ(shmem_signal_fetch(&signal), 1);
    shmem_barrier_all();
    static long data;
    long value = 4;
    shmem_long_put_signal(&data, &value, 1, &signal, UINT64_MAX, SHMEM_SIGNAL_ADD, right_pe());
    shmem_barrier_all();
    CHECK_EQ(signal, 0);
}

/* All PEs at once on one signal of every PE, with the same operator. */
TEST(SIG_4_add, "signal updates with ADD are atomic against each other")
{
    static uint64_t signal;
    static long landing[64];
    const long data = 1;
    for (int i = 0; i < ROUNDS; i++)
        for (int pe = 0; pe < npes; pe++) {
            shmem_signal_add(&signal, 1, pe);
            shmem_long_put_signal(&landing[me], &data, 1, &signal, 1, SHMEM_SIGNAL_ADD, pe);
            shmem_ctx_long_put_signal_nbi(SHMEM_CTX_DEFAULT, &landing[me], &data, 1, &signal, 1, SHMEM_SIGNAL_ADD, pe);
        }
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 3u * ROUNDS * (uint64_t)npes), 3 * ROUNDS * npes);
}

TEST(SIG_4_set, "signal updates with SET never mix their bytes")
{
    static uint64_t signal;
    const uint64_t mine = (uint64_t)(me + 1) * 0x0101010101010101u;
    for (int i = 0; i < ROUNDS; i++) {
        shmem_signal_set(&signal, mine, right_pe());
        shmem_signal_set(&signal, mine, 0);
        uint64_t seen = shmem_signal_fetch(&signal), byte = seen & 0xFF;
        CHECK_EQ(seen, byte * 0x0101010101010101u);
        CHECK(byte <= (uint64_t)npes);
    }
}

TEST(SIG_5, "signal_fetch reads the caller's own object", .also = "SYM-1")
{
    static uint64_t signal;
    uint64_t *on_heap = shmem_calloc(1, sizeof *on_heap);
    REQUIRE(on_heap);
    signal = 0xFFFFFFFF00000000u + (uint64_t)me;
    *on_heap = 0xEEEEEEEE00000000u + (uint64_t)me;
    shmem_barrier_all();
    CHECK_EQ(shmem_signal_fetch(&signal), 0xFFFFFFFF00000000u + (uint64_t)me);
    CHECK_EQ(shmem_signal_fetch(on_heap), 0xEEEEEEEE00000000u + (uint64_t)me);
}

TEST(SIG_6, "signal_wait_until compares unsigned and returns the value that satisfied it")
{
    static uint64_t signal;
    const uint64_t big = 0x8000000000000001u;
    shmem_signal_set(&signal, big, right_pe());
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_GT, 5), big);
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, big), big);
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, big), big);
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_LE, UINT64_MAX), big);
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_LT, UINT64_MAX), big);
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_NE, 0), big);
}

/* The value may change between test and return; what comes back has to satisfy the condition all the same. */
TEST(SIG_6_tested_value, "the value returned is the very value tested", .min_pes = 2)
{
    static uint64_t signal, done;
    if (me == 0) {
        for (uint64_t i = 1; !shmem_signal_fetch(&done); i++)
            shmem_signal_set(&signal, i % 2 ? i : 0, 1);
        shmem_quiet();
    }
    if (me == 1) {
        for (int i = 0; i < 2000; i++)
            CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_NE, 0) != 0);
        shmem_signal_set(&done, 1, 0);
        shmem_quiet();
    }
}

TEST(SIG_7, "signal_set and signal_add in plain, context and type-generic form")
{
    static uint64_t signal;
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    ROUTINE(ctx_signal_set)(context, &signal, 1u << 20, right_pe());
    shmem_ctx_quiet(context);
    ROUTINE(ctx_signal_add)(context, &signal, 1, right_pe());
    shmem_ctx_quiet(context);
    (ROUTINE(signal_add))(&signal, 2, right_pe());
    shmem_quiet();
    shmem_signal_add(&signal, 4, right_pe());
    shmem_signal_add(context, &signal, 8, right_pe());
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    CHECK_EQ(shmem_signal_fetch(&signal), (1 << 20) + 15);
    shmem_barrier_all();
    shmem_signal_set(context, &signal, 77, right_pe());
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    CHECK_EQ(shmem_signal_fetch(&signal), 77);
    shmem_barrier_all();
    (ROUTINE(signal_set))(&signal, 78, right_pe());
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 78), 78);
}

TEST(SIG_7_fence, "fence orders a put before a later signal")
{
    static uint64_t signal, back;
    static long data[64];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            long source[64];
            for (int i = 0; i < 64; i++)
                source[i] = (long)round;
            shmem_long_put(data, source, 64, npes - 1);
            shmem_fence();
            shmem_signal_add(&signal, 1, npes - 1);
        }
        if (me == npes - 1) {
            shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, round);
            for (int i = 0; i < 64; i++)
                CHECK_EQ(data[i], round);
            shmem_signal_set(&back, round, 0);
        }
        if (me == 0)
            shmem_signal_wait_until(&back, SHMEM_CMP_EQ, round);
    }
}
