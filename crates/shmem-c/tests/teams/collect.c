/* Team collects: blocks of all members, in team order, on all members. */
#include "movement.h"

/* What everybody must find, given the elements of each member. Returns the number of bytes. */
static size_t expected_blocks(unsigned char *want, const struct members *members, const size_t counts[], size_t size)
{
    size_t end = 0;
    for (int i = 0; i < members->size; i++)
        for (size_t at = 0; at < counts[i] * size; at++) want[end++] = contributed(members->world[i], at);
    return end;
}

static void check_blocks(const struct team *team, const struct movement *move, const struct buffers *on, const size_t counts[],
                         int (*collect)(shmem_team_t, void *, const void *, size_t)) {
    static unsigned char want[BUFFER_BYTES];
    size_t bytes = expected_blocks(want, &team->members, counts, move->size), mine = counts[shmem_team_my_pe(team->handle)];
    memset(want + bytes, GUARD, 64);
    memset(on->dest, GUARD, bytes + 64);
    contribute(on->source, mine * move->size);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    CHECK_EQ(collect(team->handle, on->dest, on->source, mine), 0);
    memset(on->source, 0, mine * move->size);
    CHECK(same_bytes(move->name, on->dest, want, bytes + 64));
    CHECK_EQ(shmem_team_sync(team->handle), 0);
}

static void equal_blocks(const struct team *team, const struct movement *move, const struct buffers *on)
{
    size_t counts[MAX_PES];
    for (size_t count = 0; count <= 5; count += 5) {
        for (int i = 0; i < MAX_PES; i++) counts[i] = count;
        check_blocks(team, move, on, counts, move->fcollect);
        check_blocks(team, move, on, counts, move->collect);
    }
}

TEST(CC_1, "fcollect of every type puts the block of member i at i*nelems", .also = "COL-1 COL-7 COL-8 COL-9")
{
    for_every_form(equal_blocks);
}

static void unequal_blocks(const struct team *team, const struct movement *move, const struct buffers *on)
{
    size_t counts[MAX_PES];
    for (int pattern = 0; pattern < 3; pattern++) {
        for (int i = 0; i < MAX_PES; i++) counts[i] = pattern == 0 ? (size_t)i % 4 : pattern == 1 ? (size_t)(i == 1) * 9 : mix(7, i) % 6;
        check_blocks(team, move, on, counts, move->collect);
    }
}

TEST(CC_1_collect, "collect of every type with other counts on every member, zero included") { for_every_form(unequal_blocks); }

TEST(CC_2, "blocks follow the team order: a reversed team has them reversed")
{
    static int source[2], forward[2 * MAX_PES], backward[2 * MAX_PES];
    shmem_team_t reversed = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    source[0] = 2 * me;
    source[1] = 2 * me + 1;
    CHECK_EQ(shmem_int_fcollect(SHMEM_TEAM_WORLD, forward, source, 2), 0);
    CHECK_EQ(shmem_int_collect(reversed, backward, source, 2), 0);
    for (int i = 0; i < npes; i++)
        for (int e = 0; e < 2; e++) {
            CHECK_EQ(forward[2 * i + e], 2 * i + e);
            CHECK_EQ(backward[2 * (npes - 1 - i) + e], 2 * i + e);
        }
    shmem_team_destroy(reversed);
}

TEST(COL_8_collect, "who contributes nothing may give any pointer, however much the others contribute", .also = "SYM-9")
{
    static const size_t lengths[] = {3, 100, 5000};
    char *source = shmem_malloc(5000), *dest = shmem_malloc(5000 * (size_t)npes);
    REQUIRE(source != NULL && dest != NULL);
    memset(source, me + 1, 5000);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i], nothing = (size_t)npes / 2;
        memset(dest, 0, n * (size_t)npes);
        shmem_barrier_all();
        bool gives = (size_t)me != nothing;
        CHECK_EQ(shmem_collectmem(SHMEM_TEAM_WORLD, dest, gives ? source : NULL, gives ? n : 0), 0);
        for (size_t at = 0; at < n * (size_t)(npes - 1); at++) {
            size_t member = at / n;
            CHECK_EQ(dest[at], (char)(member + (member >= nothing) + 1));
        }
        shmem_barrier_all();
    }
    shmem_free(dest);
    shmem_free(source);
}

TEST(CC_1_large, "blocks larger than any internal buffer, of unequal size")
{
    enum { LONGS = 200 * 1000 };
    size_t all = 0, before = 0;
    for (int pe = 0; pe < npes; pe++) {
        if (pe < me) before += LONGS + (size_t)pe;
        all += LONGS + (size_t)pe;
    }
    long *source = shmem_malloc((LONGS + MAX_PES) * sizeof *source), *dest = shmem_malloc(all * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    for (size_t i = 0; i < LONGS + (size_t)me; i++) source[i] = (long)(before + i);
    CHECK_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, LONGS + (size_t)me), 0);
    size_t wrong = 0;
    for (size_t i = 0; i < all; i++) wrong += dest[i] != (long)i;
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    for (size_t i = 0; i < LONGS; i++) source[i] = (long)i * npes + me;
    CHECK_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, LONGS), 0);
    for (size_t i = 0; i < LONGS * (size_t)npes; i++) wrong += dest[i] != (long)(i % LONGS) * npes + (long)(i / LONGS);
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}
