/* Put and get: every type, size and form, into heap and static memory. */
// build:
// build: -DSHIFTED_NAMES
#include "places.h"
#include "transfers.h"

enum { AT = 64, COUNT = 5, WIDEST = 16 };

typedef void contiguous(void *dest, const void *source, size_t count, int pe);

/* Everybody writes COUNT elements to the right; the source is overwritten as soon as the call allows it. */
static void check_put(const struct transfers *t, contiguous *put, int nonblocking, unsigned char *target)
{
    _Alignas(WIDEST) unsigned char source[COUNT * WIDEST];
    size_t bytes = COUNT * t->size;
    memset(target, GUARD, ROOM);
    shmem_barrier_all();
    fill(source, bytes, me);
    put(target + AT, source, COUNT, right_pe());
    if (nonblocking) {
        shmem_ctx_quiet(transfer_context);
        shmem_quiet();
    }
    memset(source, 0, sizeof source);
    shmem_ctx_quiet(transfer_context);
    shmem_barrier_all();
    CHECK(is_all(target, AT, GUARD));
    CHECK(is_pattern(target + AT, bytes, left_pe()));
    CHECK(is_all(target + AT + bytes, ROOM - AT - bytes, GUARD));
}

static void check_get(const struct transfers *t, contiguous *get, int nonblocking, unsigned char *origin)
{
    _Alignas(WIDEST) unsigned char local[(COUNT + 2) * WIDEST];
    size_t bytes = COUNT * t->size;
    memset(local, GUARD, sizeof local);
    memset(origin, GUARD, ROOM);
    fill(origin + AT, bytes, me);
    shmem_barrier_all();
    get(local + WIDEST, origin + AT, COUNT, right_pe());
    if (nonblocking) {
        shmem_ctx_quiet(transfer_context);
        shmem_quiet();
    }
    CHECK(is_all(local, WIDEST, GUARD));
    CHECK(is_pattern(local + WIDEST, bytes, right_pe()));
    CHECK(is_all(local + WIDEST + bytes, sizeof local - WIDEST - bytes, GUARD));
    shmem_barrier_all();
}

#define FOR_EACH_ROW_AND_PLACE(T, P)                                                                            \
    open_places();                                                                                              \
    FOR_EACH_TRANSFER(T)                                                                                        \
        FOR_EACH_PLACE(P)                                                                                       \
            if (check_row = T->name, check_place = P->name, 1)

TEST(RMA_1_put, "the source of a blocking put may be reused at once, in every form", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        check_put(t, t->put, 0, place->bytes);
}

TEST(RMA_1_get, "a blocking get returns with the data, in every form", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        check_get(t, t->get, 0, place->bytes);
}

TEST(RMA_1_default_context, "context forms on the default context", .also = "CTX-9")
{
    FOR_EACH_ROW_AND_PLACE(t, place) {
        check_put(t, t->put, 0, place->bytes);
        check_get(t, t->get, 0, place->bytes);
    }
}

TEST(RMA_1_p_g, "p and g move one element of every type", .also = "SYM-1")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place) {
        if (!t->p)
            continue;
        unsigned char value[WIDEST], result[WIDEST];
        unsigned char *target = place->bytes;
        memset(target, GUARD, ROOM);
        shmem_barrier_all();
        fill(value, t->size, me);
        t->p(target + AT, value, right_pe());
        memset(value, 0, sizeof value);
        shmem_ctx_quiet(transfer_context);
        shmem_barrier_all();
        CHECK(is_all(target, AT, GUARD));
        CHECK(is_pattern(target + AT, t->value, left_pe()));
        CHECK(is_all(target + AT + t->size, 2 * WIDEST, GUARD));
        t->g(result, target + AT, right_pe());
        CHECK(is_pattern(result, t->value, me));
        t->g(result, target + AT, me);
        CHECK(is_pattern(result, t->value, left_pe()));
        shmem_barrier_all();
    }
}

TEST(RMA_1_large, "lengths around every power of two up to 8 MiB", .also = "SYM-7")
{
    size_t most = 8u << 20;
    unsigned char *target = shmem_malloc(most + 64), *source = malloc(most + 64);
    REQUIRE(target && source);
    fill(source, most + 64, me);
    for (size_t power = 1; power <= most; power *= 2)
        for (int step = -1; step <= 1; step++) {
            size_t length = power + (size_t)step;
            memset(target, GUARD, length + 64);
            shmem_barrier_all();
            shmem_putmem(target + 1, source, length, right_pe());
            shmem_barrier_all();
            CHECK(target[0] == GUARD && is_all(target + 1 + length, 63, GUARD));
            CHECK(is_pattern(target + 1, length, left_pe()));
            shmem_barrier_all();
        }
    for (size_t power = 1; power <= most; power *= 4) {
        shmem_getmem(source, target + 1, power, right_pe());
        CHECK(is_pattern(source, power, me));
    }
    shmem_barrier_all();
    free(source);
    shmem_free(target);
}

TEST(RMA_2_put_nbi, "a nonblocking put owns its source until quiet, stack variables included", .also = "SYM-1")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        check_put(t, t->put_nbi, 1, place->bytes);
}

TEST(RMA_2_get_nbi, "a nonblocking get has delivered after quiet", .also = "SYM-1")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        check_get(t, t->get_nbi, 1, place->bytes);
}

TEST(RMA_2_p_copies, "p takes its value by copy")
{
    static long target[64];
    for (long i = 0; i < 64; i++) {
        long value = 1000 * me + i;
        shmem_long_p(&target[i], value, right_pe());
        value = -1;
        (void)value;
    }
    shmem_barrier_all();
    for (long i = 0; i < 64; i++)
        CHECK_EQ(target[i], 1000 * left_pe() + i);
}

TEST(RMA_3, "a get after put and quiet sees the put")
{
    static long target[8];
    int slot = me % 8;
    for (long i = 1; i <= 1000; i++) {
        shmem_long_p(&target[slot], i * (me + 1), right_pe());
        shmem_quiet();
        CHECK_EQ(shmem_long_g(&target[slot], right_pe()), i * (me + 1));
    }
}

/* The two values differ in every byte, so that a torn element shows. */
#define WHOLE_ELEMENTS(T, NAME)                                                                                 \
    do {                                                                                                        \
        static volatile T element;                                                                              \
        static int done;                                                                                        \
        T one = (T)0x1111111111111111u, other = (T)0xEEEEEEEEEEEEEEEEu;                                         \
        element = one;                                                                                          \
        done = 0;                                                                                               \
        shmem_barrier_all();                                                                                    \
        if (me == 0) {                                                                                          \
            for (int i = 0; i < 20000; i++) {                                                                   \
                T value = i % 2 ? one : other;                                                                  \
                if (i % 4 < 2)                                                                                  \
                    shmem_##NAME##_p((T *)&element, value, npes - 1);                                           \
                else                                                                                            \
                    shmem_##NAME##_put((T *)&element, &value, 1, npes - 1);                                     \
            }                                                                                                   \
            shmem_quiet();                                                                                      \
            shmem_int_p(&done, 1, npes - 1);                                                                    \
        }                                                                                                       \
        if (me == npes - 1)                                                                                     \
            do {                                                                                                \
                T seen = element;                                                                               \
                CHECK(seen == one || seen == other);                                                            \
            } while (!shmem_int_test(&done, SHMEM_CMP_EQ, 1));                                                  \
        shmem_barrier_all();                                                                                    \
    } while (0)

TEST(RMA_4, "an aligned element of 1 to 8 bytes arrives in one piece")
{
    WHOLE_ELEMENTS(uint8_t, uint8);
    WHOLE_ELEMENTS(uint16_t, uint16);
    WHOLE_ELEMENTS(uint32_t, uint32);
    WHOLE_ELEMENTS(uint64_t, uint64);
}

/* Whether `room` bytes hold, from their start, `blocks` blocks of `block` bytes every `stride` bytes, cut from the pattern
 * every `source_stride` bytes, and GUARD everywhere else. */
static int is_strided_in(const unsigned char *bytes, size_t room, size_t block, size_t blocks, size_t stride,
                         size_t source_stride, unsigned seed)
{
    for (size_t i = 0; i < room; i++) {
        size_t number = i / stride, within = i % stride;
        int inside = number < blocks && within < block;
        if (bytes[i] != (inside ? pattern(seed, number * source_stride + within) : GUARD))
            return 0;
    }
    return 1;
}

/* The same for a place, behind its first AT bytes. */
static int is_strided(const unsigned char *bytes, size_t block, size_t blocks, size_t stride, size_t source_stride,
                      unsigned seed)
{
    return is_strided_in(bytes, ROOM - AT, block, blocks, stride, source_stride, seed);
}

static const struct { ptrdiff_t dst, sst; } strides[] = {{1, 1}, {2, 1}, {1, 3}, {3, 2}, {5, 5}};

TEST(RMA_5_iput, "iput touches exactly its elements", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        for (size_t k = 0; t->iput && k < sizeof strides / sizeof *strides; k++) {
            _Alignas(WIDEST) unsigned char source[COUNT * 5 * WIDEST];
            ptrdiff_t dst = strides[k].dst, sst = strides[k].sst;
            memset(place->bytes, GUARD, ROOM);
            shmem_barrier_all();
            fill(source, sizeof source, me);
            t->iput(place->bytes + AT, source, dst, sst, COUNT, right_pe());
            memset(source, 0, sizeof source);
            shmem_ctx_quiet(transfer_context);
            shmem_barrier_all();
            CHECK(is_all(place->bytes, AT, GUARD));
            CHECK(is_strided(place->bytes + AT, t->size, COUNT, dst * t->size, sst * t->size, left_pe()));
        }
}

TEST(RMA_5_iget, "iget touches exactly its elements", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        for (size_t k = 0; t->iget && k < sizeof strides / sizeof *strides; k++) {
            _Alignas(WIDEST) unsigned char local[ROOM];
            ptrdiff_t dst = strides[k].dst, sst = strides[k].sst;
            memset(local, GUARD, sizeof local);
            fill(place->bytes, ROOM, me);
            shmem_barrier_all();
            t->iget(local, place->bytes, dst, sst, COUNT, right_pe());
            CHECK(is_strided(local, t->size, COUNT, dst * t->size, sst * t->size, right_pe()));
            shmem_barrier_all();
        }
}

static const struct { ptrdiff_t dst, sst; size_t block, blocks; } blocks[] = {
    {1, 1, 1, 5}, {3, 2, 1, 4}, {3, 3, 3, 4}, {4, 3, 2, 3}, {3, 7, 3, 3}, {9, 4, 4, 2}, {2, 2, 2, 1}};

TEST(RMA_6_ibput, "ibput moves blocks, with strides between block starts", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        for (size_t k = 0; t->ibput && k < sizeof blocks / sizeof *blocks; k++) {
            _Alignas(WIDEST) unsigned char source[ROOM];
            ptrdiff_t dst = blocks[k].dst, sst = blocks[k].sst;
            size_t block = blocks[k].block, number = blocks[k].blocks;
            memset(place->bytes, GUARD, ROOM);
            shmem_barrier_all();
            fill(source, sizeof source, me);
            t->ibput(place->bytes + AT, source, dst, sst, block, number, right_pe());
            memset(source, 0, sizeof source);
            shmem_ctx_quiet(transfer_context);
            shmem_barrier_all();
            CHECK(is_all(place->bytes, AT, GUARD));
            CHECK(is_strided(place->bytes + AT, block * t->size, number, dst * t->size, sst * t->size, left_pe()));
        }
}

TEST(RMA_6_ibget, "ibget moves blocks, with strides between block starts", .also = "SYM-1 RMA-7")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place)
        for (size_t k = 0; t->ibget && k < sizeof blocks / sizeof *blocks; k++) {
            _Alignas(WIDEST) unsigned char local[ROOM];
            ptrdiff_t dst = blocks[k].dst, sst = blocks[k].sst;
            size_t block = blocks[k].block, number = blocks[k].blocks;
            memset(local, GUARD, sizeof local);
            fill(place->bytes, ROOM, me);
            shmem_barrier_all();
            t->ibget(local, place->bytes, dst, sst, block, number, right_pe());
            CHECK(is_strided(local, block * t->size, number, dst * t->size, sst * t->size, right_pe()));
            shmem_barrier_all();
        }
}

TEST(RMA_6_long, "the source of long blocks may be reused at once", .also = "RMA-1 RMA-7 SYM-1")
{
    enum { BLOCKS = 4, MOST = 70000 };
    static const size_t lengths[] = {100, 4096, 4097, 8193, 32769, MOST};
    static unsigned char in_bss[BLOCKS * (MOST + 9)];
    unsigned char *source = malloc(sizeof in_bss), *in_heap = shmem_malloc(sizeof in_bss);
    REQUIRE(source && in_heap && shmem_ctx_create(0, &transfer_context) == 0);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int form = 0; form < 4; form++) {
            unsigned char *target = form % 2 ? in_bss : in_heap;
            size_t length = lengths[k], to = length + 9, from = length + 5;
            ptrdiff_t dst = (ptrdiff_t)to, sst = (ptrdiff_t)from;
            memset(target, GUARD, sizeof in_bss);
            shmem_barrier_all();
            fill(source, sizeof in_bss, me);
            if (form < 2)
                shmem_ibput8(target, source, dst, sst, length, BLOCKS, right_pe());
            else
                shmem_ctx_ibput8(transfer_context, target, source, dst, sst, length, BLOCKS, right_pe());
            memset(source, 0, sizeof in_bss);
            shmem_ctx_quiet(transfer_context);
            shmem_barrier_all();
            CHECK(is_strided_in(target, sizeof in_bss, length, BLOCKS, to, from, left_pe()));
        }
    shmem_barrier_all();
    free(source);
    shmem_free(in_heap);
}

TEST(RMA_6_nothing, "no blocks or empty blocks move nothing", .also = "SYM-9")
{
    REQUIRE(shmem_ctx_create(0, &transfer_context) == 0);
    FOR_EACH_ROW_AND_PLACE(t, place) {
        if (!t->ibput)
            continue;
        _Alignas(WIDEST) unsigned char local[4 * WIDEST];
        memset(local, 0x11, sizeof local);
        memset(place->bytes, GUARD, ROOM);
        shmem_barrier_all();
        t->ibput(place->bytes, local, 3, 3, 0, 2, right_pe());
        t->ibput(place->bytes, local, 3, 3, 2, 0, right_pe());
        t->ibget(local, place->bytes, 3, 3, 0, 2, right_pe());
        t->ibget(local, place->bytes, 3, 3, 2, 0, right_pe());
        shmem_barrier_all();
        CHECK(is_all(place->bytes, ROOM, GUARD) && is_all(local, sizeof local, 0x11));
    }
}

TEST(RMA_7, "put8 moves 8-bit elements and put128 16-byte elements")
{
    static _Alignas(16) unsigned char target[64];
    unsigned char source[64];
    memset(target, GUARD, sizeof target);
    fill(source, sizeof source, me);
    shmem_barrier_all();
    shmem_put8(target, source, 3, right_pe());
    shmem_barrier_all();
    CHECK(is_pattern(target, 3, left_pe()) && is_all(target + 3, 61, GUARD));
    shmem_barrier_all();
    shmem_put128(target, source, 3, right_pe());
    shmem_barrier_all();
    CHECK(is_pattern(target, 48, left_pe()) && is_all(target + 48, 16, GUARD));
}

TEST(RMA_8, "a long double travels with all 16 bytes")
{
    static _Alignas(16) unsigned char target[3 * sizeof(long double)];
    _Alignas(16) unsigned char bytes[3 * sizeof(long double)];
    fill(bytes, sizeof bytes, me);
    shmem_longdouble_put((long double *)target, (long double *)bytes, 3, right_pe());
    shmem_barrier_all();
    CHECK(is_pattern(target, sizeof target, left_pe()));
    shmem_longdouble_get((long double *)bytes, (long double *)target, 3, right_pe());
    CHECK(is_pattern(bytes, sizeof bytes, me));
    shmem_barrier_all();
    static long double value;
    shmem_longdouble_p(&value, -1.0L / 3 - me, right_pe());
    shmem_barrier_all();
    CHECK(value == -1.0L / 3 - left_pe());
    CHECK(shmem_longdouble_g(&value, right_pe()) == -1.0L / 3 - me);
}

TEST(RMA_9, "transfers and atomics complete at a target that computes and never calls the library", .min_pes = 2)
{
    enum { MOST_PES = 64 };
    static long data[MOST_PES][100], counter;
    static atomic_int finished;
    if (me == npes - 1) {
        while (atomic_load(&finished) != npes - 1)
            ;
        CHECK_EQ(counter, (npes - 1) * 100);
        return;
    }
    long copy[100];
    for (int i = 0; i < 100; i++) {
        shmem_long_p(&data[me][i], i + 1, npes - 1);
        shmem_long_atomic_inc(&counter, npes - 1);
    }
    shmem_quiet();
    shmem_long_get(copy, data[me], 100, npes - 1);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(copy[i], i + 1);
    shmem_int_atomic_inc((int *)&finished, npes - 1);
    shmem_quiet();
}

TEST(RMA_10, "transfers to oneself are visible to own loads after quiet", .also = "SYM-8")
{
    FOR_EACH_ROW_AND_PLACE(t, place) {
        _Alignas(WIDEST) unsigned char buffer[COUNT * WIDEST];
        size_t bytes = COUNT * t->size;
        memset(place->bytes, GUARD, ROOM);
        fill(buffer, bytes, me);
        t->put(place->bytes + AT, buffer, COUNT, me);
        shmem_quiet();
        CHECK(is_pattern(place->bytes + AT, bytes, me) && is_all(place->bytes + AT + bytes, 64, GUARD));
        memset(buffer, 0, sizeof buffer);
        t->get(buffer, place->bytes + AT, COUNT, me);
        CHECK(is_pattern(buffer, bytes, me));
        fill(buffer, bytes, me + 1);
        t->put_nbi(place->bytes + AT, buffer, COUNT, me);
        shmem_quiet();
        CHECK(is_pattern(place->bytes + AT, bytes, me + 1));
        memset(buffer, 0, sizeof buffer);
        t->get_nbi(buffer, place->bytes + AT, COUNT, me);
        shmem_quiet();
        CHECK(is_pattern(buffer, bytes, me + 1));
    }
}
