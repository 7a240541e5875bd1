/* The variable all-to-all: other sizes and offsets for every pair, on active sets and teams, placed or packed. */
#include "active_set.h"

#include <shmemx.h>

enum { BLOCK = 128, ROOM = MAX_PES * BLOCK };

static _Alignas(8) unsigned char source[ROOM], target[ROOM + 64];
static size_t s_offsets[MAX_PES], s_sizes[MAX_PES], t_offsets[MAX_PES], t_sizes[MAX_PES], t_size[1];

SYNC_ARRAYS(psyncs, 2);

/* Bytes from one member to another: none for every fifth pair, odd numbers often. At least 8, so that blocks tell who sent them. */
static size_t bytes_between(int from, int to, int round)
{
    uint64_t dice = mix((uint64_t)from * 64 + (uint64_t)to, (uint64_t)round);
    return dice % 5 == 0 ? 0 : 8 + dice / 8 % 100;
}

static unsigned char sent(int from, int to, int round, size_t at)
{
    return (unsigned char)(mix((uint64_t)(from * 64 + to), at / 8 + (uint64_t)round * 1000) >> at % 8 * 8);
}

/* Blocks lie in the source in reverse order with gaps, and land in the target in another order with gaps. */
static void prepare(const struct members *members, int mine, int round)
{
    int n = members->size;
    memset(source, 0, sizeof source);
    memset(target, 0xa5, sizeof target);
    for (int i = 0; i < n; i++) {
        s_offsets[i] = (size_t)(n - 1 - i) * BLOCK + (size_t)i % 3;
        t_offsets[i] = (size_t)((i + 1) % n) * BLOCK + (size_t)(round % 4);
        s_sizes[i] = bytes_between(mine, i, round);
        t_sizes[i] = 12345; /* output only */
        for (size_t at = 0; at < s_sizes[i]; at++) source[s_offsets[i] + at] = sent(mine, i, round, at);
    }
    t_size[0] = 12345;
}

static void check_placed(int n, int mine, int round)
{
    static unsigned char want[ROOM + 64];
    memset(want, 0xa5, sizeof want);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(t_sizes[i], bytes_between(i, mine, round));
        for (size_t at = 0; at < bytes_between(i, mine, round); at++) want[t_offsets[i] + at] = sent(i, mine, round, at);
    }
    size_t wrong = 0;
    for (size_t at = 0; at < sizeof want; at++) wrong += want[at] != target[at];
    CHECK_EQ(wrong, 0);
}

static bool starts_with_block(const unsigned char *at, int from, int mine, int round)
{
    for (size_t i = 0; i < bytes_between(from, mine, round); i++)
        if (at[i] != sent(from, mine, round, i)) return false;
    return true;
}

/* The blocks stand one behind the other, in any order. */
static void check_packed(int n, int mine, int round)
{
    bool found[MAX_PES] = {false};
    size_t end = 0, total = 0;
    for (int i = 0; i < n; i++) {
        total += bytes_between(i, mine, round);
        found[i] = bytes_between(i, mine, round) == 0;
    }
    CHECK_EQ(t_size[0], total);
    for (bool progress = true; progress;) {
        progress = false;
        for (int i = 0; i < n && !progress; i++)
            if (!found[i] && starts_with_block(target + end, i, mine, round)) {
                found[i] = progress = true;
                end += bytes_between(i, mine, round);
            }
    }
    CHECK_EQ(end, total);
    for (int i = 0; i < n; i++) CHECK(found[i]);
    for (int i = 0; i < 64; i++) CHECK_EQ(target[total + (size_t)i], 0xa5);
}

static void on_every_set(bool packed)
{
    int round = 0;
    FOR_EACH_ACTIVE_SET(set) {
        struct members members = members_of(set);
        int mine = my_place(&members);
        round++;
        if (mine >= 0) prepare(&members, mine, round);
        shmem_sync_all();
        if (mine >= 0 && packed) {
            shmemx_alltoallv_packed(target, (size_t)ROOM, t_size, source, s_offsets, s_sizes, set.start, set.log_stride, set.size, psyncs[0]);
            check_packed(set.size, mine, round);
        } else if (mine >= 0) {
            shmemx_alltoallv(target, t_offsets, t_sizes, source, s_offsets, s_sizes, set.start, set.log_stride, set.size, psyncs[0]);
            check_placed(set.size, mine, round);
        }
        if (mine >= 0) CHECK(is_restored(psyncs[0]));
        shmem_sync_all();
    }
}

static void on_every_team(bool packed)
{
    struct team teams[SHAPES];
    make_teams(teams);
    for (int round = 0; round < 30; round++)
        FOR_EACH_TEAM_OF_MINE(team, teams) {
            int mine = shmem_team_my_pe(team->handle), n = team->members.size;
            prepare(&team->members, mine, round);
            CHECK_EQ(shmem_team_sync(team->handle), 0);
            stagger((uint64_t)round);
            if (packed) {
                shmemx_team_alltoallv_packed(target, (size_t)ROOM, t_size, source, s_offsets, s_sizes, team->handle, psyncs[0]);
                check_packed(n, mine, round);
            } else {
                shmemx_team_alltoallv(target, t_offsets, t_sizes, source, s_offsets, s_sizes, team->handle, psyncs[0]);
                check_placed(n, mine, round);
            }
            CHECK_EQ(shmem_team_sync(team->handle), 0);
        }
    destroy_teams(teams);
}

TEST(EXT_11, "shmemx_alltoallv on every active set: blocks land at the receiver's offsets, t_sizes tells how much came") { on_every_set(false); }
TEST(EXT_12, "shmemx_alltoallv_packed on every active set: blocks back to back in any order, t_size is the total") { on_every_set(true); }
TEST(EXT_13, "shmemx_team_alltoallv on every shape of team, member numbers are team numbers") { on_every_team(false); }
TEST(EXT_13_packed, "shmemx_team_alltoallv_packed on every shape of team") { on_every_team(true); }

TEST(EXT_13_sources, "shmemx_team_alltoallv: members send from different arrays, and one that sends nothing has none")
{
    static uint64_t arrays[2][MAX_PES], numbers[MAX_PES];
    uint64_t *own = arrays[me % 2];
    const int silent = npes > 1 ? npes - 1 : -1;
    for (int i = 0; i < npes; i++) {
        arrays[0][i] = arrays[1][i] = 1;
        own[i] = (uint64_t)(me * MAX_PES + i);
        s_offsets[i] = t_offsets[i] = (size_t)i * sizeof *own;
        s_sizes[i] = me == silent ? 0 : sizeof *own;
        numbers[i] = 1;
    }
    shmem_barrier_all();
    shmemx_team_alltoallv(numbers, t_offsets, t_sizes, me == silent ? NULL : own, s_offsets, s_sizes, SHMEM_TEAM_WORLD, psyncs[0]);
    for (int i = 0; i < npes; i++) {
        CHECK_EQ(t_sizes[i], i == silent ? 0 : sizeof *own);
        CHECK_EQ(numbers[i], i == silent ? 1 : (uint64_t)(i * MAX_PES + me));
    }
}

TEST(EXT_14, "SHMEM_ALLTOALLV_TSIZE_CHK=trunc: t_sizes is also the capacity per sender, larger blocks are cut",
     .env = "SHMEM_ALLTOALLV_TSIZE_CHK=trunc")
{
    struct members all = everyone();
    prepare(&all, me, 1);
    for (int i = 0; i < npes; i++) t_sizes[i] = (size_t)i % 2 ? 16 : BLOCK;
    shmem_barrier_all();
    shmemx_alltoallv(target, t_offsets, t_sizes, source, s_offsets, s_sizes, 0, 0, npes, psyncs[0]);
    for (int i = 0; i < npes; i++) {
        size_t whole = bytes_between(i, me, 1), kept = i % 2 && whole > 16 ? 16 : whole;
        CHECK_EQ(t_sizes[i], kept);
        for (size_t at = 0; at < kept; at++) CHECK_EQ(target[t_offsets[i] + at], sent(i, me, 1, at));
        CHECK_EQ(target[t_offsets[i] + kept], 0xa5);
    }
}

TEST(EXT_14_abort, "SHMEM_ALLTOALLV_TSIZE_CHK=abort: a block larger than its capacity ends the job",
     .env = "SHMEM_ALLTOALLV_TSIZE_CHK=abort", .aborts = 1, .says = "alltoallv|t_sizes")
{
    struct members all = everyone();
    prepare(&all, me, 1);
    for (int i = 0; i < npes; i++) {
        s_sizes[i] = 32;
        t_sizes[i] = 31;
    }
    shmem_barrier_all();
    shmemx_alltoallv(target, t_offsets, t_sizes, source, s_offsets, s_sizes, 0, 0, npes, psyncs[0]);
}

TEST(EXT_12_capacity, "a packed target that is too small ends the job", .aborts = 1, .says = "alltoallv_packed|target_len")
{
    struct members all = everyone();
    prepare(&all, me, 1);
    for (int i = 0; i < npes; i++) s_sizes[i] = 32;
    shmem_barrier_all();
    shmemx_alltoallv_packed(target, 31, t_size, source, s_offsets, s_sizes, 0, 0, npes, psyncs[0]);
}
