/* Team reductions. */
#include "operands.h"

#include <float.h>
#include <math.h>

struct reduction {
    const char *name;
    const struct element *element;
    bool factors;
    fold *with;
    int (*typed)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*generic)(shmem_team_t, void *dest, const void *source, size_t count);
};

#define CALLS(OP, NAME, T) \
    static int typed_##OP##_##NAME(shmem_team_t team, void *d, const void *s, size_t n) { \
        return shmem_##NAME##_##OP##_reduce(team, d, s, n); \
    } \
    static int generic_##OP##_##NAME(shmem_team_t team, void *d, const void *s, size_t n) { \
        return shmem_##OP##_reduce(team, (T *)d, (const T *)s, n); \
    }
#define AND_CALLS(NAME, T) CALLS(and, NAME, T)
#define OR_CALLS(NAME, T) CALLS(or, NAME, T)
#define XOR_CALLS(NAME, T) CALLS(xor, NAME, T)
#define MAX_CALLS(NAME, T) CALLS(max, NAME, T)
#define MIN_CALLS(NAME, T) CALLS(min, NAME, T)
#define SUM_CALLS(NAME, T) CALLS(sum, NAME, T)
#define PROD_CALLS(NAME, T) CALLS(prod, NAME, T)

BITWISE_TYPES(AND_CALLS)
BITWISE_TYPES(OR_CALLS)
BITWISE_TYPES(XOR_CALLS)
ORDERED_TYPES(MAX_CALLS)
ORDERED_TYPES(MIN_CALLS)
ARITHMETIC_TYPES(SUM_CALLS)
ARITHMETIC_TYPES(PROD_CALLS)

#define ROW(OP, NAME, FACTORS) {#OP, &element_##NAME, FACTORS, OP##_##NAME, typed_##OP##_##NAME, generic_##OP##_##NAME},
#define AND_ROW(NAME, T) ROW(and, NAME, false)
#define OR_ROW(NAME, T) ROW(or, NAME, false)
#define XOR_ROW(NAME, T) ROW(xor, NAME, false)
#define MAX_ROW(NAME, T) ROW(max, NAME, false)
#define MIN_ROW(NAME, T) ROW(min, NAME, false)
#define SUM_ROW(NAME, T) ROW(sum, NAME, false)
#define PROD_ROW(NAME, T) ROW(prod, NAME, true)

static const struct reduction reductions[] = {
        BITWISE_TYPES(AND_ROW) BITWISE_TYPES(OR_ROW) BITWISE_TYPES(XOR_ROW) ORDERED_TYPES(MAX_ROW) ORDERED_TYPES(MIN_ROW)
        ARITHMETIC_TYPES(SUM_ROW) ARITHMETIC_TYPES(PROD_ROW)
};

#define FOR_EACH_REDUCTION(R) \
    for (const struct reduction *R = reductions; R < reductions + sizeof reductions / sizeof *reductions; R++)

enum { MOST = 1000, GUARD_BYTES = 64 };

static _Alignas(16) unsigned char static_source[MOST * LARGEST_ELEMENT], static_dest[MOST * LARGEST_ELEMENT + GUARD_BYTES];

static void check_reduction(const struct team *team, const struct reduction *r, bool generic, size_t count, bool in_place)
{
    static _Alignas(16) unsigned char want[MOST * LARGEST_ELEMENT];
    unsigned char *source = static_source, *dest = in_place ? static_source : static_dest;
    size_t bytes = count * r->element->size;
    combine(want, r->element, r->with, r->factors, team->members.size, count);
    memset(static_dest, 0xa5, bytes + GUARD_BYTES);
    r->element->fill(source, shmem_team_my_pe(team->handle), count, r->factors);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    CHECK_EQ((generic ? r->generic : r->typed)(team->handle, dest, source, count), 0);
    CHECK(same_elements(r->name, r->element, dest, want, count));
    if (!in_place) memset(source, 0, bytes); /* ours again at once */
    for (int i = 0; i < GUARD_BYTES; i++) CHECK_EQ(static_dest[(in_place ? 0 : bytes) + (size_t)i], 0xa5);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
}

TEST(RED_1, "every reduction in every form on every shape of team", .also = "RED-2 COL-1 COL-4 COL-7 COL-9")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        FOR_EACH_REDUCTION(r) {
            check_reduction(team, r, false, 9, false);
            check_reduction(team, r, true, 1, false);
        }
    destroy_teams(teams);
}

TEST(RED_1_in_place, "every reduction with dest equal to source")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        FOR_EACH_REDUCTION(r) check_reduction(team, r, false, 13, true);
    destroy_teams(teams);
}

TEST(RED_1_lengths, "every reduction of lengths around what fits a cache line, a slot and a vector")
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 56, 57, 64, 65, 255, 257, MOST};
    struct team world = {"world", SHMEM_TEAM_WORLD, everyone()};
    FOR_EACH_REDUCTION(r)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_reduction(&world, r, i % 2, counts[i], false);
            check_reduction(&world, r, i % 2, counts[i], true);
        }
}

/* The same bits on all members, compared by sending them around. */
static bool same_bits_everywhere(const void *mine, size_t bytes)
{
    static unsigned char own[4096], everybody[MAX_PES * 4096];
    REQUIRE(bytes <= sizeof own);
    memcpy(own, mine, bytes);
    shmem_barrier_all();
    CHECK_EQ(shmem_fcollectmem(SHMEM_TEAM_WORLD, everybody, own, bytes), 0);
    bool same = true;
    for (int pe = 0; pe < npes; pe++) same &= memcmp(everybody + (size_t)pe * bytes, everybody, bytes) == 0;
    shmem_barrier_all();
    return same;
}

/* Bytes that carry a value: a long double may have padding. */
#define VALUE_BYTES(T) (LDBL_MANT_DIG == 64 && sizeof(T) == 16 ? 10 : sizeof(T))

static size_t pack_values(unsigned char *packed, const void *values, size_t count, size_t size, size_t bytes)
{
    for (size_t i = 0; i < count; i++) memcpy(packed + i * bytes, (const unsigned char *)values + i * size, bytes);
    return count * bytes;
}

/* Sums and products whose result depends on the order of combination: not the value is promised, but one value. */
#define ORDER_SENSITIVE(NAME, T) \
    static void check_one_result_##NAME(size_t count) { \
        static T source[60], sums[60], products[60]; \
        unsigned char first[1200], packed[1200]; \
        for (int repetition = 0; repetition < 20; repetition++) { \
            for (size_t i = 0; i < count; i++) \
                source[i] = (T)ldexp((double)(int64_t)mix((uint64_t)me, i) / 3, (int)(mix(i, (uint64_t)me) % 8) - 65); \
            shmem_barrier_all(); \
            stagger((uint64_t)repetition); \
            CHECK_EQ(shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, sums, source, count), 0); \
            CHECK_EQ(shmem_##NAME##_prod_reduce(SHMEM_TEAM_WORLD, products, source, count), 0); \
            size_t end = pack_values(packed, sums, count, sizeof(T), VALUE_BYTES(T)); \
            end += pack_values(packed + end, products, count, sizeof(T), VALUE_BYTES(T)); \
            CHECK(same_bits_everywhere(packed, end)); \
            if (repetition == 0) memcpy(first, packed, end); \
            CHECK(memcmp(first, packed, end) == 0); \
        } \
    }
REAL_TYPES(ORDER_SENSITIVE)

TEST(RED_4, "rounded sums and products have the same bits on all PEs and on repetition")
{
    for (size_t count = 1; count <= 57; count += 28) {
        check_one_result_float(count);
        check_one_result_double(count);
        check_one_result_longdouble(count);
    }
}

TEST(RED_4_large, "so have sums that travel in pieces")
{
    enum { COUNT = 100 * 1000 };
    double *source = shmem_malloc(COUNT * sizeof *source), *dest = shmem_malloc(COUNT * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    static uint64_t digest[1], least[1], most[1];
    uint64_t before = 0;
    for (int repetition = 0; repetition < 3; repetition++) {
        for (size_t i = 0; i < COUNT; i++) source[i] = (double)(int64_t)mix((uint64_t)me, i) / 3;
        shmem_barrier_all();
        CHECK_EQ(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, COUNT), 0);
        digest[0] = 0;
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t bits;
            memcpy(&bits, &dest[i], sizeof bits);
            digest[0] = mix(digest[0], bits);
        }
        if (repetition > 0) CHECK_EQ(digest[0], before);
        before = digest[0];
        shmem_barrier_all();
        CHECK_EQ(shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, least, digest, 1), 0);
        CHECK_EQ(shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, most, digest, 1), 0);
        CHECK_EQ(least[0], most[0]);
    }
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

static int32_t long_operand(int pe, size_t i)
{
    return (int32_t)(mix((uint64_t)pe + 1, i) >> 40);
}

/* Element i of all members' operands: their maximum and their sum. */
static void expect_long(const struct team *team, size_t i, int32_t *most, uint32_t *sum)
{
    *most = INT32_MIN;
    *sum = 0;
    for (int member = 0; member < team->members.size; member++) {
        int32_t operand = long_operand(member, i);
        *most = operand > *most ? operand : *most;
        *sum += (uint32_t)operand;
    }
}

TEST(RED_1_long, "reductions longer than every landing zone, one after the other, apart and in place")
{
    enum { COUNT = 270 * 1000 + 1 };
    int32_t *source = shmem_malloc(COUNT * sizeof *source), *most = shmem_malloc(COUNT * sizeof *most);
    uint32_t *sum = shmem_malloc(COUNT * sizeof *sum);
    REQUIRE(source != NULL && most != NULL && sum != NULL);
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        for (size_t i = 0; i < COUNT; i++) source[i] = long_operand(shmem_team_my_pe(team->handle), i);
        CHECK_EQ(shmem_team_sync(team->handle), 0);
        CHECK_EQ(shmem_int32_max_reduce(team->handle, most, source, COUNT), 0);
        CHECK_EQ(shmem_uint32_sum_reduce(team->handle, sum, (uint32_t *)source, COUNT), 0);
        CHECK_EQ(shmem_int32_max_reduce(team->handle, source, source, COUNT), 0);
        size_t wrong = 0;
        for (size_t i = 0; i < COUNT; i++) {
            int32_t want_most;
            uint32_t want_sum;
            expect_long(team, i, &want_most, &want_sum);
            wrong += most[i] != want_most || sum[i] != want_sum || source[i] != want_most;
        }
        CHECK_EQ(wrong, 0);
        CHECK_EQ(shmem_team_sync(team->handle), 0);
    }
    destroy_teams(teams);
    shmem_free(sum);
    shmem_free(most);
    shmem_free(source);
}

TEST(RED_5, "integer sums and products wrap; extremes compare with the sign of the type")
{
    static int32_t int_source[2], int_dest[2];
    static int8_t byte_source[1], byte_dest[1];
    static char char_source[1], char_dest[1];
    static uint64_t wide_source[1], wide_dest[1];
    int_source[0] = INT32_MAX - me;
    int_source[1] = me == 0 ? INT32_MAX : 3;
    byte_source[0] = me == 0 ? -128 : 127;
    char_source[0] = me == 0 ? (char)0x80 : 0x7f;
    wide_source[0] = me == 0 ? UINT64_MAX : 1;
    int64_t sum = 0;
    uint32_t product = INT32_MAX;
    for (int pe = 0; pe < npes; pe++) sum += INT32_MAX - pe;
    for (int pe = 1; pe < npes; pe++) product *= 3;
    CHECK_EQ(shmem_int32_sum_reduce(SHMEM_TEAM_WORLD, int_dest, int_source, 1), 0);
    CHECK_EQ(int_dest[0], (int32_t)sum);
    CHECK_EQ(shmem_int32_prod_reduce(SHMEM_TEAM_WORLD, int_dest + 1, int_source + 1, 1), 0);
    CHECK_EQ(int_dest[1], (int32_t)product);
    CHECK_EQ(shmem_int8_max_reduce(SHMEM_TEAM_WORLD, byte_dest, byte_source, 1), 0);
    CHECK_EQ(byte_dest[0], npes > 1 ? 127 : -128);
    CHECK_EQ(shmem_char_min_reduce(SHMEM_TEAM_WORLD, char_dest, char_source, 1), 0);
    CHECK_EQ(char_dest[0], npes == 1 || (char)0x80 < 0x7f ? (char)0x80 : 0x7f);
    CHECK_EQ(shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, wide_dest, wide_source, 1), 0);
    CHECK(wide_dest[0] == UINT64_MAX);
}

/* One PE after the other brings the odd value, in every place of a long row. */
#define ODD_VALUES(NAME, T) \
    static void check_odd_values_##NAME(void) { \
        static T source[40], dest[40]; \
        T odd[] = {(T)NAN, -(T)NAN, (T)0.0, -(T)0.0, (T)INFINITY, -(T)INFINITY}; \
        for (int bringer = 0; bringer < npes; bringer++) \
            for (int maximum = 0; maximum < 2; maximum++) { \
                for (size_t i = 0; i < 40; i++) \
                    source[i] = me == bringer ? odd[i % 6] : i % 12 < 6 ? (i % 4 < 2 ? -(T)0.0 : (T)0.0) : (T)(me - 1); \
                memset(dest, 0, sizeof dest); \
                shmem_barrier_all(); \
                if (maximum) CHECK_EQ(shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, dest, source, 40), 0); \
                else CHECK_EQ(shmem_##NAME##_min_reduce(SHMEM_TEAM_WORLD, dest, source, 40), 0); \
                unsigned char packed[40 * sizeof(T)]; \
                CHECK(same_bits_everywhere(packed, pack_values(packed, dest, 40, sizeof(T), VALUE_BYTES(T)))); \
            } \
    }
REAL_TYPES(ODD_VALUES)

TEST(RED_5_nan, "extremes with NaN, signed zeros and infinities end, with the same bits on all PEs")
{
    check_odd_values_float();
    check_odd_values_double();
    check_odd_values_longdouble();
}

TEST(RED_6, "reductions of several MiB, of odd lengths, also in place")
{
    enum { COUNT = (1 << 20) + 13 };
    long *source = shmem_malloc(COUNT * sizeof *source), *dest = shmem_malloc((COUNT + 1) * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    for (int in_place = 0; in_place < 2; in_place++) {
        long *to = in_place ? source : dest;
        for (long i = 0; i < COUNT; i++) source[i] = i * npes + me;
        dest[COUNT] = -1;
        shmem_barrier_all();
        CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, source, COUNT), 0);
        long wrong = 0, n = npes;
        for (long i = 0; i < COUNT; i++) wrong += to[i] != i * n * n + n * (n - 1) / 2;
        CHECK_EQ(wrong, 0);
        CHECK_EQ(dest[COUNT], -1);
        shmem_barrier_all();
    }
    shmem_free(dest);
    shmem_free(source);
}

TEST(RED_6_beyond_int, "more than 2^31 bytes and elements (run with CHECK_LONG=1)", .max_pes = 2, .env = "SHMEM_SYMMETRIC_SIZE=6G")
{
    const size_t count = ((size_t)1 << 31) + 5;
    if (getenv("CHECK_LONG") == NULL) {
        if (me == 0) printf("SKIP: needs CHECK_LONG=1 and %d GiB of memory\n", 5 * npes);
        return;
    }
    signed char *source = shmem_malloc(count), *dest = shmem_malloc(count);
    REQUIRE(source != NULL && dest != NULL);
    for (size_t i = 0; i < count; i++) source[i] = (signed char)(i % 51 + (size_t)me);
    shmem_barrier_all();
    CHECK_EQ(shmem_schar_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count), 0);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += dest[i] != (signed char)(i % 51 * (size_t)npes + (size_t)(npes - 1));
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    CHECK_EQ(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, count, npes - 1), 0);
    for (size_t i = 0; i < count; i++) wrong += dest[i] != (signed char)(i % 51 + (size_t)npes - 1);
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}
