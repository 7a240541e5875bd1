/* Prefix sums: sum_inscan and sum_exscan. */
#include "operands.h"

struct scan {
    const struct element *element;
    fold *with;
    int (*inscan)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*exscan)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*generic_inscan)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*generic_exscan)(shmem_team_t, void *dest, const void *source, size_t count);
};

#define CALLS(KIND, NAME, T) \
    static int KIND##_##NAME(shmem_team_t team, void *d, const void *s, size_t n) { \
        return shmem_##NAME##_sum_##KIND(team, d, s, n); \
    } \
    static int generic_##KIND##_##NAME(shmem_team_t team, void *d, const void *s, size_t n) { \
        return shmem_sum_##KIND(team, (T *)d, (const T *)s, n); \
    }
#define SCAN_CALLS(NAME, T) CALLS(inscan, NAME, T) CALLS(exscan, NAME, T)
ARITHMETIC_TYPES(SCAN_CALLS)

#define SCAN_ROW(NAME, T) \
    {&element_##NAME, sum_##NAME, inscan_##NAME, exscan_##NAME, generic_inscan_##NAME, generic_exscan_##NAME},
static const struct scan scans[] = {ARITHMETIC_TYPES(SCAN_ROW)};

#define FOR_EACH_SCAN(SCAN) for (const struct scan *SCAN = scans; SCAN < scans + sizeof scans / sizeof *scans; SCAN++)

enum { MOST = 600, GUARD_BYTES = 64 };

/* What an exclusive scan gives member i is what an inclusive one gives member i-1, and zero to member 0. */
static void check_scan(const struct team *team, const struct scan *scan, bool inclusive, bool generic, size_t count, bool in_place)
{
    static _Alignas(16) unsigned char source[MOST * LARGEST_ELEMENT], want[MOST * LARGEST_ELEMENT];
    static _Alignas(16) unsigned char separate[MOST * LARGEST_ELEMENT + GUARD_BYTES];
    int mine = shmem_team_my_pe(team->handle);
    size_t bytes = count * scan->element->size;
    unsigned char *dest = in_place ? source : separate;
    if (inclusive || mine > 0) combine(want, scan->element, scan->with, false, mine + inclusive, count);
    else memset(want, 0, bytes);
    memset(separate, 0xa5, bytes + GUARD_BYTES);
    scan->element->fill(source, mine, count, false);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    int (*call)(shmem_team_t, void *, const void *, size_t) =
            inclusive ? generic ? scan->generic_inscan : scan->inscan : generic ? scan->generic_exscan : scan->exscan;
    CHECK_EQ(call(team->handle, dest, source, count), 0);
    CHECK(same_elements(inclusive ? "inscan" : "exscan", scan->element, dest, want, count));
    if (!in_place) memset(source, 0, bytes);
    for (int i = 0; i < GUARD_BYTES; i++) CHECK_EQ(separate[(in_place ? 0 : bytes) + (size_t)i], 0xa5);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
}

TEST(SCN_1, "both scans of every type in every form on every shape of team; exscan gives member 0 zero", .also = "COL-1 COL-9")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        FOR_EACH_SCAN(scan)
            for (int form = 0; form < 4; form++) check_scan(team, scan, form & 1, form & 2, 5, false);
    destroy_teams(teams);
}

TEST(SCN_1_in_place, "both scans with dest equal to source")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        FOR_EACH_SCAN(scan)
            for (int inclusive = 0; inclusive < 2; inclusive++) check_scan(team, scan, inclusive, false, 11, true);
    destroy_teams(teams);
}

TEST(SCN_1_lengths, "both scans of no, few and many elements")
{
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, 56, 57, 64, 65, MOST};
    struct team world = {"world", SHMEM_TEAM_WORLD, everyone()};
    FOR_EACH_SCAN(scan)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int inclusive = 0; inclusive < 2; inclusive++) check_scan(&world, scan, inclusive, false, counts[i], i % 2);
}

TEST(SCN_1_large, "both scans of more than a MiB, also in place")
{
    enum { COUNT = 200 * 1000 + 1 };
    long *source = shmem_malloc(COUNT * sizeof *source), *dest = shmem_malloc(COUNT * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    for (int form = 0; form < 4; form++) {
        int inclusive = form & 1;
        long *to = form & 2 ? source : dest, before = 0;
        for (int pe = 0; pe < me + inclusive; pe++) before += pe + 1;
        for (long i = 0; i < COUNT; i++) source[i] = i * (me + 1);
        shmem_barrier_all();
        CHECK_EQ((inclusive ? shmem_long_sum_inscan : shmem_long_sum_exscan)(SHMEM_TEAM_WORLD, to, source, COUNT), 0);
        long wrong = 0;
        for (long i = 0; i < COUNT; i++) wrong += to[i] != i * before;
        CHECK_EQ(wrong, 0);
        shmem_barrier_all();
    }
    shmem_free(dest);
    shmem_free(source);
}
