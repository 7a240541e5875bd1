/* The deprecated collectives on active sets, all but the reductions. */
#include "active_set.h"

enum { ELEMENTS = 3, ROOM = 1024 };

SYNC_ARRAYS(psyncs, 2);

struct movement {
    const char *name;
    size_t size;
    void (*broadcast)(void *, const void *, size_t, int, int, int, int, long *);
    void (*collect)(void *, const void *, size_t, int, int, int, long *);
    void (*fcollect)(void *, const void *, size_t, int, int, int, long *);
    void (*alltoall)(void *, const void *, size_t, int, int, int, long *);
    void (*alltoalls)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int, int, int, long *);
};

static const struct movement movements[] = {
        {"32", 4, shmem_broadcast32, shmem_collect32, shmem_fcollect32, shmem_alltoall32, shmem_alltoalls32},
        {"64", 8, shmem_broadcast64, shmem_collect64, shmem_fcollect64, shmem_alltoall64, shmem_alltoalls64},
};

static _Alignas(8) unsigned char static_source[ROOM * 8], static_dest[ROOM * 8];

static unsigned char contributed(int world, size_t at) { return (unsigned char)mix((uint64_t)world + 1, at); }

static bool same_bytes(const char *what, const unsigned char *got, const unsigned char *want, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if (got[at] != want[at]) {
            fprintf(stderr, "PE %d, %s: byte %zu of %zu is %#x, not %#x\n", me, what, at, bytes, got[at], want[at]);
            return false;
        }
    return true;
}

/* What the caller's dest holds afterwards: `want` starts as dest was and is filled in by each check. */
static unsigned char want[ROOM * 8];

static void prepare(size_t source_bytes)
{
    for (size_t at = 0; at < source_bytes; at++) static_source[at] = contributed(me, at);
    memset(static_dest, 0xa5, sizeof static_dest);
    memset(want, 0xa5, sizeof want);
    shmem_sync_all();
}

static void expect(size_t at, int world, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) want[at + i] = contributed(world, from + i);
}

static void finish(const char *what, bool member)
{
    CHECK(same_bytes(what, static_dest, want, sizeof want));
    if (member) CHECK(is_restored(psyncs[0]));
    shmem_sync_all();
}

#define FOR_EACH_FORM_AND_SET(MOVE, SET) \
    for (const struct movement *MOVE = movements; MOVE < movements + 2; MOVE++) \
        FOR_EACH_ACTIVE_SET(SET)

TEST(BC_1_active, "broadcast32/64: the root is an ordinal inside the set, and its own dest is not written", .also = "ACT-1 ACT-2")
{
    FOR_EACH_FORM_AND_SET(move, set)
        for (int root = 0; root < set.size; root += set.size < 3 ? 1 : set.size - 1) {
            struct members members = members_of(set);
            int mine = my_place(&members);
            size_t bytes = ELEMENTS * move->size;
            prepare(bytes);
            if (mine >= 0) move->broadcast(static_dest, static_source, ELEMENTS, root, set.start, set.log_stride, set.size, psyncs[0]);
            if (mine >= 0 && mine != root) expect(0, members.world[root], 0, bytes);
            finish("broadcast", mine >= 0);
        }
}

TEST(CC_1_active, "fcollect32/64 and collect32/64 on every active set, with unequal counts too", .also = "ACT-1 ACT-2")
{
    FOR_EACH_FORM_AND_SET(move, set)
        for (int unequal = 0; unequal < 2; unequal++) {
            struct members members = members_of(set);
            int mine = my_place(&members);
            size_t count = unequal ? (size_t)(me * 3) % 5 : ELEMENTS, end = 0;
            prepare(count * move->size);
            for (int i = 0; mine >= 0 && i < set.size; i++) {
                size_t bytes = (unequal ? (size_t)(members.world[i] * 3) % 5 : ELEMENTS) * move->size;
                expect(end, members.world[i], 0, bytes);
                end += bytes;
            }
            if (mine >= 0)
                (unequal ? move->collect : move->fcollect)(static_dest, static_source, count, set.start, set.log_stride, set.size, psyncs[0]);
            finish(unequal ? "collect" : "fcollect", mine >= 0);
        }
}

TEST(AA_1_active, "alltoall32/64 on every active set", .also = "ACT-1 ACT-2")
{
    FOR_EACH_FORM_AND_SET(move, set) {
        struct members members = members_of(set);
        int mine = my_place(&members);
        size_t block = ELEMENTS * move->size;
        prepare((size_t)set.size * block);
        for (int k = 0; mine >= 0 && k < set.size; k++) expect((size_t)k * block, members.world[k], (size_t)mine * block, block);
        if (mine >= 0) move->alltoall(static_dest, static_source, ELEMENTS, set.start, set.log_stride, set.size, psyncs[0]);
        finish("alltoall", mine >= 0);
    }
}

TEST(AA_2_active, "alltoalls32/64 on every active set, strides per element, gaps untouched", .also = "ACT-1 ACT-2")
{
    enum { DST = 3, SST = 2 };
    FOR_EACH_FORM_AND_SET(move, set) {
        struct members members = members_of(set);
        int mine = my_place(&members);
        prepare((size_t)set.size * ELEMENTS * SST * move->size);
        for (size_t b = 0; mine >= 0 && b < (size_t)set.size; b++)
            for (size_t e = 0; e < ELEMENTS; e++)
                expect((b * ELEMENTS + e) * DST * move->size, members.world[b], ((size_t)mine * ELEMENTS + e) * SST * move->size, move->size);
        if (mine >= 0) move->alltoalls(static_dest, static_source, DST, SST, ELEMENTS, set.start, set.log_stride, set.size, psyncs[0]);
        finish("alltoalls", mine >= 0);
    }
}

TEST(ACT_1, "the stride is a logarithm and numbers are world numbers; only members call")
{
    static int source[1], dest[MAX_PES];
    source[0] = me;
    struct active_set sets[] = {{0, 0, npes}, {npes - 1, 5, 1}, {0, 1, (npes + 1) / 2}, {npes / 2, 0, npes - npes / 2}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct members members = members_of(sets[i]);
        if (my_place(&members) >= 0) {
            shmem_fcollect32(dest, source, 1, sets[i].start, sets[i].log_stride, sets[i].size, psyncs[0]);
            for (int k = 0; k < members.size; k++) CHECK_EQ(dest[k], members.world[k]);
        }
        shmem_barrier_all();
    }
}

TEST(ACT_2, "pSync is restored on return, on the heap as in static data, and barrier may reuse it at once", .also = "COL-7")
{
    long *on_heap = sync_array_on_heap();
    for (int i = 0; i < 200; i++) {
        shmem_barrier(0, 0, npes, i % 2 ? on_heap : psyncs[0]);
        shmem_barrier(0, 0, npes, i % 2 ? on_heap : psyncs[0]);
        (shmem_sync)(0, 0, npes, i % 2 ? on_heap : psyncs[0]);
        shmem_sync(0, 0, npes, i % 2 ? on_heap : psyncs[0]);
        CHECK(is_restored(on_heap) && is_restored(psyncs[0]));
    }
    shmem_barrier_all();
    shmem_free(on_heap);
}

TEST(ACT_3, "overlapping sets are active at the same time under different pSync arrays", .min_pes = 3)
{
    static int source[1], low[MAX_PES], high[MAX_PES];
    for (int i = 0; i < 200; i++) {
        source[0] = 100 * i + me;
        stagger((uint64_t)i);
        if (me < npes - 1) shmem_fcollect32(low, source, 1, 0, 0, npes - 1, psyncs[0]);
        if (me > 0) shmem_fcollect32(high, source, 1, 1, 0, npes - 1, psyncs[1]);
        for (int k = 0; k < npes - 1; k++) {
            if (me < npes - 1) CHECK_EQ(low[k], 100 * i + k);
            if (me > 0) CHECK_EQ(high[k], 100 * i + k + 1);
        }
        shmem_barrier_all();
    }
}

TEST(ACT_3_many, "a program may use hundreds of pSync arrays, and the first ones again")
{
    enum { MANY = 300 };
    SYNC_ARRAYS(many, MANY);
    static int source[1], dest[2][MAX_PES];
    for (int i = 0; i < 2 * MANY; i++) {
        source[0] = 100 * i + me;
        shmem_fcollect32(dest[i % 2], source, 1, 0, 0, npes, many[i % MANY]);
        for (int k = 0; k < npes; k++) CHECK_EQ(dest[i % 2][k], 100 * i + k);
    }
}

/* PE 0 takes part in nothing until the others have told it that they are done: no use of a set may need an outsider. */
TEST(ACT_3_outsider, "a set that nobody has used before needs nobody but its members", .min_pes = 2)
{
    static uint64_t done;
    static long source[1], dest[MAX_PES];
    source[0] = me;
    if (me == 0) {
        shmem_signal_wait_until(&done, SHMEM_CMP_EQ, (uint64_t)npes - 1);
    } else {
        for (int i = 0; i < 50; i++) {
            shmem_barrier(1, 0, npes - 1, psyncs[0]);
            shmem_fcollect64(dest, source, 1, 1, 0, npes - 1, psyncs[1]);
            for (int k = 1; k < npes; k++) CHECK_EQ(dest[k - 1], k);
        }
        shmem_signal_add(&done, 1, 0);
    }
}

/* Disjoint sets under one pSync array, each with another number of calls. */
TEST(ACT_3_disjoint, "disjoint sets are active at the same time under the same pSync array", .min_pes = 2)
{
    static long source[1], dest[MAX_PES];
    int half = npes / 2, start = me < half ? 0 : half, size = me < half ? half : npes - half;
    for (int i = 0; i < (me < half ? 50 : 120); i++) {
        source[0] = me + i;
        shmem_fcollect64(dest, source, 1, start, 0, size, psyncs[0]);
        for (int k = 0; k < size; k++) CHECK_EQ(dest[k], start + k + i);
        shmem_barrier(start, 0, size, psyncs[1]);
    }
}

TEST(ACT_5, "two pSync arrays in turn, without barriers between")
{
    static long source[3], dests[100][3 * MAX_PES];
    for (int i = 0; i < 100; i++) {
        for (int e = 0; e < 3; e++) source[e] = 1000 * i + 10 * me + e;
        stagger((uint64_t)i);
        if (i % 3 == 2) shmem_alltoall64(dests[i], dests[i - 1], 1, 0, 0, npes, psyncs[i % 2]);
        else shmem_fcollect64(dests[i], source, 3, 0, 0, npes, psyncs[i % 2]);
        for (int k = 0; k < npes; k++)
            for (int e = 0; i % 3 != 2 && e < 3; e++) CHECK_EQ(dests[i][3 * k + e], 1000 * i + 10 * k + e);
        for (int k = 0; i % 3 == 2 && k < npes; k++) CHECK_EQ(dests[i][k], dests[i - 1][me]);
    }
    shmem_barrier_all();
    CHECK(is_restored(psyncs[0]) && is_restored(psyncs[1]));
}

/* A PE may be ahead of another by as many broadcasts as there are roots, so that many arrays are in use at a time. */
TEST(ACT_5_broadcast, "pSync arrays in turn serve broadcasts from changing roots without barriers")
{
    SYNC_ARRAYS(in_turn, MAX_PES + 1);
    static long source[1], dests[200];
    for (int i = 0; i < 200; i++) {
        int root = i % npes;
        source[0] = 100 * i + me;
        stagger((uint64_t)i);
        shmem_broadcast64(&dests[i], source, 1, root, 0, 0, npes, in_turn[i % (npes + 1)]);
        CHECK_EQ(dests[i], root == me ? 0 : 100 * i + root);
    }
}

TEST(ACT_6, "a pSync array initialised by the compiler needs no barrier before its first use")
{
    static long source[1] = {4}, dest[MAX_PES];
    shmem_fcollect64(dest, source, 1, 0, 0, npes, psyncs[1]);
    for (int k = 0; k < npes; k++) CHECK_EQ(dest[k], 4);
    CHECK(is_restored(psyncs[1]));
}

TEST(ACT_7, "barrier on a set completes its members' puts; sync orders their stores")
{
    static long put[1], stored[1];
    FOR_EACH_ACTIVE_SET(set) {
        struct members members = members_of(set);
        int mine = my_place(&members);
        shmem_barrier_all();
        put[0] = stored[0] = -1;
        shmem_barrier_all();
        if (mine < 0) continue;
        int n = set.size, next = members.world[(mine + 1) % n], previous = members.world[(mine + n - 1) % n];
        shmem_long_p(put, me, next);
        shmem_barrier(set.start, set.log_stride, set.size, psyncs[0]);
        CHECK_EQ(put[0], previous);
        stored[0] = me;
        shmem_sync(set.start, set.log_stride, set.size, psyncs[0]);
        for (int i = 0; i < n; i++) CHECK_EQ(shmem_long_g(stored, members.world[i]), members.world[i]);
    }
}

TEST(COL_8_active, "active-set collectives of no elements end")
{
    shmem_broadcast32(NULL, NULL, 0, 0, 0, 0, npes, psyncs[0]);
    shmem_barrier_all();
    shmem_fcollect64(NULL, NULL, 0, 0, 0, npes, psyncs[0]);
    shmem_barrier_all();
    shmem_collect32(NULL, NULL, 0, 0, 0, npes, psyncs[0]);
    shmem_barrier_all();
    shmem_alltoall64(NULL, NULL, 0, 0, 0, npes, psyncs[0]);
    shmem_barrier_all();
    shmem_alltoalls32(NULL, NULL, 1, 1, 0, 0, 0, npes, psyncs[0]);
    CHECK(is_restored(psyncs[0]));
}
