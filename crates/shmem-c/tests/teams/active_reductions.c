/* The deprecated reductions on active sets. */
#include "active_set.h"
#include "operands.h"

SYNC_ARRAYS(psyncs, 2);

typedef void reduce_call(void *dest, const void *source, int count, struct active_set set, void *pwrk, long *psync);

struct reduction {
    const char *name;
    const struct element *element;
    bool factors;
    fold *with;
    reduce_call *call;
};

#define CALL_OF(OP, NAME) \
    static void call_##OP##_##NAME(void *d, const void *s, int n, struct active_set set, void *pwrk, long *psync) { \
        shmem_##NAME##_##OP##_to_all(d, s, n, set.start, set.log_stride, set.size, pwrk, psync); \
    }
#define BITWISE_CALLS(NAME, T) CALL_OF(and, NAME) CALL_OF(or, NAME) CALL_OF(xor, NAME)
#define ORDERED_CALLS(NAME, T) CALL_OF(max, NAME) CALL_OF(min, NAME)
#define ARITHMETIC_CALLS(NAME, T) CALL_OF(sum, NAME) CALL_OF(prod, NAME)
ACTIVE_INTEGER_TYPES(BITWISE_CALLS)
ACTIVE_ORDERED_TYPES(ORDERED_CALLS)
ACTIVE_ARITHMETIC_TYPES(ARITHMETIC_CALLS)

#define ROW(OP, NAME, FACTORS) {#OP, &element_##NAME, FACTORS, OP##_##NAME, call_##OP##_##NAME},
#define BITWISE_ROWS(NAME, T) ROW(and, NAME, false) ROW(or, NAME, false) ROW(xor, NAME, false)
#define ORDERED_ROWS(NAME, T) ROW(max, NAME, false) ROW(min, NAME, false)
#define ARITHMETIC_ROWS(NAME, T) ROW(sum, NAME, false) ROW(prod, NAME, true)

static const struct reduction reductions[] = {
        ACTIVE_INTEGER_TYPES(BITWISE_ROWS) ACTIVE_ORDERED_TYPES(ORDERED_ROWS) ACTIVE_ARITHMETIC_TYPES(ARITHMETIC_ROWS)
};

#define FOR_EACH_REDUCTION(R) \
    for (const struct reduction *R = reductions; R < reductions + sizeof reductions / sizeof *reductions; R++)

enum { MOST = 300, GUARD_BYTES = 64, WORK = MOST / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE };

static _Alignas(16) unsigned char source[MOST * LARGEST_ELEMENT], dest[MOST * LARGEST_ELEMENT + GUARD_BYTES];
static _Alignas(16) unsigned char pwrk[WORK * LARGEST_ELEMENT + GUARD_BYTES];

static size_t work_elements(size_t count)
{
    return count / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? count / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE;
}

static bool is_guarded(const unsigned char *end)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (end[i] != 0xa5) return false;
    return true;
}

/* Collective over the world, because pSync and dest have to be ready before the next set begins. */
static void check_reduction(const struct reduction *r, struct active_set set, size_t count, bool in_place)
{
    static _Alignas(16) unsigned char want[MOST * LARGEST_ELEMENT];
    struct members members = members_of(set);
    size_t bytes = count * r->element->size, work_bytes = work_elements(count) * r->element->size;
    int mine = my_place(&members);
    unsigned char *to = in_place ? source : dest;
    memset(dest, 0xa5, bytes + GUARD_BYTES);
    memset(pwrk, 0xa5, work_bytes + GUARD_BYTES);
    if (mine >= 0) r->element->fill(source, mine, count, r->factors);
    shmem_sync_all();
    if (mine >= 0) {
        combine(want, r->element, r->with, r->factors, set.size, count);
        r->call(to, source, (int)count, set, pwrk, psyncs[0]);
        CHECK(same_elements(r->name, r->element, to, want, count));
        CHECK(is_restored(psyncs[0]));
    }
    CHECK(is_guarded(mine >= 0 && !in_place ? dest + bytes : dest));
    CHECK(is_guarded(pwrk + work_bytes));
    shmem_sync_all();
}

TEST(RED_3, "every to_all reduction on every active set", .also = "ACT-1 ACT-2")
{
    FOR_EACH_ACTIVE_SET(set) FOR_EACH_REDUCTION(r) check_reduction(r, set, 5, false);
}

TEST(RED_3_in_place, "every to_all reduction with dest equal to source, and with a count of 0")
{
    struct active_set all = {0, 0, npes};
    FOR_EACH_REDUCTION(r) {
        check_reduction(r, all, 7, true);
        check_reduction(r, all, 0, false);
    }
}

TEST(ACT_4, "no reduction needs more of pWrk than half its elements and one")
{
    static const size_t counts[] = {1, 2, 3, 9, 16, 64, 65, 255, MOST};
    struct active_set all = {0, 0, npes};
    FOR_EACH_REDUCTION(r)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_reduction(r, all, counts[i], false);
}

TEST(ACT_5_reductions, "two pSync and pWrk arrays in turn without barriers, in static data and on the heap", .also = "COL-7")
{
    static long values[2][40], sums[2][40], works[2][40 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    long *heap_syncs[] = {sync_array_on_heap(), sync_array_on_heap()};
    for (int i = 0; i < 400; i++) {
        int turn = i % 2;
        bool heap = i >= 200;
        if (i == 200) shmem_barrier_all();
        for (int e = 0; e < 40; e++) values[turn][e] = (long)i * npes + me + e;
        stagger((uint64_t)i);
        shmem_long_sum_to_all(sums[turn], values[turn], 40, 0, 0, npes, works[turn], heap ? heap_syncs[turn] : psyncs[turn]);
        for (int e = 0; e < 40; e++)
            CHECK_EQ(sums[turn][e], (long)npes * ((long)i * npes + e) + (long)npes * (npes - 1) / 2);
    }
    shmem_barrier_all();
    CHECK(is_restored(psyncs[0]) && is_restored(psyncs[1]) && is_restored(heap_syncs[0]) && is_restored(heap_syncs[1]));
    shmem_free(heap_syncs[1]);
    shmem_free(heap_syncs[0]);
}

TEST(RED_6_active, "a to_all reduction of more than a MiB with the small pWrk the standard asks for")
{
    enum { COUNT = 300 * 1000 };
    long *from = shmem_malloc(COUNT * sizeof *from), *to = shmem_malloc(COUNT * sizeof *to);
    long *work = shmem_malloc(work_elements(COUNT) * sizeof *work);
    REQUIRE(from != NULL && to != NULL && work != NULL);
    for (long i = 0; i < COUNT; i++) from[i] = i * npes + me;
    shmem_barrier_all();
    shmem_long_sum_to_all(to, from, COUNT, 0, 0, npes, work, psyncs[0]);
    long wrong = 0, n = npes;
    for (long i = 0; i < COUNT; i++) wrong += to[i] != i * n * n + n * (n - 1) / 2;
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    shmem_free(work);
    shmem_free(to);
    shmem_free(from);
}

void shmem_comp8_xor_to_all_(void *dest, const void *source, const int32_t *nreduce, const int32_t *PE_start,
                             const int32_t *logPE_stride, const int32_t *PE_size, void *pWrk, int32_t *pSync);

TEST(RED_6_bits, "Fortran's exclusive or of complex numbers takes any count, and the array is what is too short for it",
     .aborts = 1, .says = "SHMEM_COMP8_XOR_TO_ALL: dest")
{
    static double _Complex from[1], to[1], work[1];
    int32_t count = 1 << 30, zero = 0, all = npes;
    shmem_comp8_xor_to_all_(to, from, &count, &zero, &zero, &all, work, (int32_t *)psyncs[0]);
}
