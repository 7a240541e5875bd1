/* What all team collectives share: they block, follow each other without pause, and touch nothing but their own. */
#include "membership.h"

#include <pthread.h>

TEST(COL_1, "team collectives return int, team_sync included, and 0 on success")
{
    _Static_assert(_Generic(shmem_team_sync(SHMEM_TEAM_WORLD), int: 1, default: 0), "team_sync returns int");
    _Static_assert(_Generic(shmem_sync(SHMEM_TEAM_WORLD), int: 1, default: 0), "so does the generic form");
    _Static_assert(_Generic(shmem_alltoallmem(SHMEM_TEAM_WORLD, NULL, NULL, 0), int: 1, default: 0), "and the others");
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0);
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
}

TEST(SYN_1, "team sync waits for all members and shows their plain stores; other PEs are not needed", .also = "ORD-8")
{
    static long round_of_mine;
    struct team teams[SHAPES];
    make_teams(teams);
    for (long round = 1; round <= 30; round++)
        FOR_EACH_TEAM_OF_MINE(team, teams) {
            stagger((uint64_t)round);
            round_of_mine = round;
            CHECK_EQ(round % 2 ? shmem_team_sync(team->handle) : shmem_sync(team->handle), 0);
            for (int i = 0; i < team->members.size; i++) CHECK(shmem_long_g(&round_of_mine, team->members.world[i]) >= round);
        }
    destroy_teams(teams);
}

TEST(SYN_1_late, "nobody leaves before the last member has arrived")
{
    static long arrived;
    for (int late = 0; late < npes; late++) {
        come_late(me == late);
        for (int pe = 0; pe < npes; pe++) shmem_long_atomic_inc(&arrived, pe);
        shmem_quiet();
        CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
        CHECK(shmem_long_atomic_fetch(&arrived, me) >= (long)npes * (late + 1));
    }
}

/* The mixed collectives of COL_2: each is known by a number, works on `long`s and has one right result. */
enum { KINDS = 14, MOST_COUNT = 3000 };

static long value_of(int world, int step, size_t index)
{
    return (long)(mix((uint64_t)world * 1000003 + (uint64_t)step, index) >> 20) - (1L << 42);
}

struct call {
    const struct team *team;
    int kind, step, root;
    size_t count;
    long *source, *dest;
};

/* How many elements of member i's source belong to the call. */
static size_t source_count(const struct call *c, int member)
{
    size_t n = (size_t)c->team->members.size;
    switch (c->kind) {
        case 2: return (c->count + (size_t)member) % 5; /* collect: unequal */
        case 3: return n * c->count;                    /* alltoall */
        case 4: return n * c->count * 2;                /* alltoalls, source stride 2 */
        default: return c->count;
    }
}

static int perform(const struct call *c)
{
    shmem_team_t team = c->team->handle;
    size_t count = c->count;
    long *d = c->dest;
    const long *s = c->source;
    switch (c->kind) {
        case 0: return shmem_long_broadcast(team, d, s, count, c->root);
        case 1: return shmem_long_fcollect(team, d, s, count);
        case 2: return shmem_long_collect(team, d, s, source_count(c, shmem_team_my_pe(team)));
        case 3: return shmem_long_alltoall(team, d, s, count);
        case 4: return shmem_long_alltoalls(team, d, s, 1, 2, count);
        case 5: return shmem_long_sum_reduce(team, d, s, count);
        case 6: return shmem_long_max_reduce(team, d, s, count);
        case 7: return shmem_long_min_reduce(team, d, s, count);
        case 8: return shmem_int64_xor_reduce(team, (int64_t *)d, (const int64_t *)s, count);
        case 9: return shmem_uint64_prod_reduce(team, (uint64_t *)d, (const uint64_t *)s, count);
        case 10: return shmem_long_sum_inscan(team, d, s, count);
        case 11: return shmem_long_sum_exscan(team, d, s, count);
        case 12: return shmem_fcollectmem(team, d, s, count * sizeof *s);
        default: return shmem_team_sync(team);
    }
}

static long reduced(const struct call *c, size_t index)
{
    int mine = shmem_team_my_pe(c->team->handle), n = c->team->members.size;
    int last = c->kind == 10 ? mine + 1 : c->kind == 11 ? mine : n;
    uint64_t result = 0;
    for (int i = 0; i < last; i++) {
        long value = value_of(c->team->members.world[i], c->step, index), before = (long)result;
        if (i == 0) result = (uint64_t)value;
        else if (c->kind == 6) result = (uint64_t)(value > before ? value : before);
        else if (c->kind == 7) result = (uint64_t)(value < before ? value : before);
        else if (c->kind == 8) result ^= (uint64_t)value;
        else if (c->kind == 9) result *= (uint64_t)value;
        else result += (uint64_t)value;
    }
    return (long)result;
}

/* The element of some member's source that ends up at `at`, for the kinds that move; false where nothing ends up. */
static bool origin_of(const struct call *c, size_t at, int *member, size_t *index)
{
    size_t n = (size_t)c->team->members.size, mine = (size_t)shmem_team_my_pe(c->team->handle);
    if (c->kind == 0) return *member = c->root, *index = at, at < c->count;
    if (c->kind == 2) {
        for (*member = 0, *index = at; *member < (int)n && *index >= source_count(c, *member); ++*member)
      *index -= source_count(c, *member);
        return *member < (int)n;
    }
    if (at >= n * c->count) return false;
  *member = (int)(at / c->count);
  *index = at % c->count;
    if (c->kind == 3) *index += mine * c->count;
    if (c->kind == 4) *index = (mine * c->count + *index) * 2;
    return true;
}

static bool result_is_right(const struct call *c)
{
    bool moves = c->kind <= 4 || c->kind == 12, silent = c->kind == 13;
    size_t end = moves ? c->count * (size_t)c->team->members.size : silent ? 0 : c->count;
    for (size_t at = 0; at < end; at++) {
        int member;
        size_t index;
        long want;
        if (!moves) want = reduced(c, at);
        else if (origin_of(c, at, &member, &index)) want = value_of(c->team->members.world[member], c->step, index);
        else continue;
        if (c->dest[at] != want) {
            fprintf(stderr, "PE %d: step %d, kind %d, count %zu on the team '%s': element %zu is %ld, not %ld\n", me, c->step, c->kind,
              c->count, c->team->shape, at, c->dest[at], want);
            return false;
        }
    }
    return true;
}

static void fill_source(const struct call *c)
{
    for (size_t i = 0; i < source_count(c, shmem_team_my_pe(c->team->handle)); i++) c->source[i] = value_of(me, c->step, i);
}

/* Batches of collectives on all teams in turn. Within a batch nothing but the collectives keeps the PEs in step; every call
   has a dest of its own, because dest has to be ready before anybody starts. The source is one for all, overwritten at once. */
static void mixed_collectives(int batches, int steps, size_t most, size_t large)
{
    struct team teams[SHAPES];
    make_teams(teams);
    size_t room = (size_t)npes * (large > most ? large : most) * 2, small_room = (size_t)npes * most;
    long *source = shmem_malloc(room * sizeof *source);
    long *dests = shmem_malloc(((size_t)steps * SHAPES * small_room + SHAPES * room) * sizeof *dests);
    REQUIRE(source != NULL && dests != NULL);
    for (int batch = 0; batch < batches; batch++) {
        shmem_barrier_all();
        for (int step = 0; step < steps; step++)
            FOR_EACH_TEAM_OF_MINE(team, teams) {
                int shape = (int)(team - teams), number = batch * steps + step;
                uint64_t dice = mix((uint64_t)number, (uint64_t)shape);
                bool is_large = step == 0 && large > 0;
                struct call c = {.team = team, .kind = (int)(dice % KINDS), .step = number * SHAPES + shape, .source = source};
                c.root = (int)(dice / 16 % (uint64_t)team->members.size);
                c.count = is_large ? large : 1 + dice / 1024 % most;
                c.dest = is_large ? dests + (size_t)shape * room : dests + SHAPES * room + ((size_t)step * SHAPES + (size_t)shape) * small_room;
                fill_source(&c);
                stagger(dice);
                CHECK_EQ(perform(&c), 0);
                CHECK(result_is_right(&c));
            }
    }
    shmem_barrier_all();
    shmem_free(dests);
    shmem_free(source);
    destroy_teams(teams);
}

TEST(COL_2, "thousands of mixed collectives on overlapping teams, back to back, PEs staggered at random", .also = "COL-4 COL-3")
{
    mixed_collectives(getenv("CHECK_LONG") ? 2000 : 25, 64, 20, 0);
}

TEST(COL_2_large, "the same with large ones among the small") { mixed_collectives(6, 16, 40, MOST_COUNT); }

/* One call of each kind that is told apart by who signals whom, and its result; nothing is left over from an older team. */
static void check_one_of_each(shmem_team_t team, const struct members *members, long step)
{
    enum { BLOCK = 3 };
    static long source[BLOCK * MAX_PES], total[BLOCK], received[BLOCK * MAX_PES], copy[BLOCK], all[BLOCK * MAX_PES];
    int my = shmem_team_my_pe(team), root = (int)(step % members->size);
    long sum = 0;
    for (int i = 0; i < BLOCK * members->size; i++) source[i] = 1000 * me + i + step;
    for (int i = 0; i < members->size; i++) sum += 1000 * members->world[i] + step;
    CHECK_EQ(shmem_team_sync(team), 0);
    come_late(mix((uint64_t)me, (uint64_t)step) % 7 == 0);
    CHECK_EQ(shmem_long_sum_reduce(team, total, source, BLOCK), 0);
    CHECK_EQ(total[0], sum);
    CHECK_EQ(shmem_long_alltoall(team, received, source, BLOCK), 0);
    CHECK_EQ(shmem_long_broadcast(team, copy, source, BLOCK, root), 0);
    CHECK_EQ(copy[BLOCK - 1], 1000 * members->world[root] + BLOCK - 1 + step);
    CHECK_EQ(shmem_long_collect(team, all, source, (size_t)BLOCK), 0);
    for (int i = 0; i < members->size; i++) {
        CHECK_EQ(received[BLOCK * i], 1000 * members->world[i] + BLOCK * my + step);
        CHECK_EQ(all[BLOCK * i], 1000 * members->world[i] + step);
    }
}

TEST(COL_2_recycled, "collectives of teams that come and go, each in the place of others with other members", .also = "TEAM-8")
{
    struct members all = everyone();
    for (uint64_t step = 0; step < 400; step++) {
        int start = (int)(mix(1, step) % (uint64_t)npes), stride = 1 + (int)(mix(2, step) % 3);
        int size = 1 + (int)(mix(3, step) % (uint64_t)((npes - 1 - start) / stride + 1));
        struct members members = triplet_of(&all, start, stride, size);
        shmem_team_t team = split(SHMEM_TEAM_WORLD, start, stride, size);
        if (team == SHMEM_TEAM_INVALID) continue;
        for (uint64_t i = 0; i <= step % 4; i++) check_one_of_each(team, &members, (long)(step + i));
        shmem_team_destroy(team);
    }
}

TEST(COL_3, "a late PE fills its source just before it calls; nobody may have read it earlier")
{
    static long source[2 * MAX_PES], dests[KINDS][2 * MAX_PES];
    struct team world = {"world", SHMEM_TEAM_WORLD, everyone()};
    for (int late = 0; late < npes; late++) {
        shmem_barrier_all();
        for (int kind = 0; kind < KINDS; kind++) {
            struct call c = {.team = &world, .kind = kind, .step = late, .root = late, .count = 1, .source = source, .dest = dests[kind]};
            memset(source, 0xee, sizeof source);
            come_late(me == late);
            fill_source(&c);
            CHECK_EQ(perform(&c), 0);
            CHECK(result_is_right(&c));
        }
    }
}

TEST(COL_4, "the source is the caller's again on return, even while others are late to store their dest")
{
    enum { COUNT = 5000 };
    long *source = shmem_malloc((size_t)npes * 2 * COUNT * sizeof *source), *dest = shmem_malloc((size_t)npes * COUNT * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    struct team world = {"world", SHMEM_TEAM_WORLD, everyone()};
    for (int round = 0; round < 3 * KINDS; round++) {
        struct call c = {.team = &world, .kind = round % KINDS, .step = round, .root = round % npes, .count = round < KINDS ? 1 : COUNT,
                     .source = source, .dest = dest};
        fill_source(&c);
        shmem_barrier_all();
        come_late(me == round % npes);
        CHECK_EQ(perform(&c), 0);
        memset(source, 0x55, (size_t)npes * 2 * COUNT * sizeof *source);
        CHECK(result_is_right(&c));
    }
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

TEST(COL_5, "puts under way before a collective are neither lost nor disturbed by it")
{
    static long target[100], local[100], source[1], total[1], copy[1];
    for (int i = 0; i < 100; i++) local[i] = 1000 * me + i;
    source[0] = 1;
    shmem_long_put_nbi(target, local, 100, (me + 1) % npes);
    CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, total, source, 1), 0);
    CHECK_EQ(total[0], npes);
    /* Into another dest: a root that is ahead may write it before the others have looked at the total (COL-3). */
    CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, copy, source, 1, 0), 0);
    shmem_barrier_all();
    for (int i = 0; i < 100; i++) CHECK_EQ(target[i], 1000 * ((me + npes - 1) % npes) + i);
}

enum { PUTS = 2000 };
static long counted[PUTS];

static void *put_on_a_context(void *context)
{
    for (long i = 0; i < PUTS; i++) shmem_ctx_long_p(*(shmem_ctx_t *)context, &counted[i], i + 1, (me + 1) % npes);
    shmem_ctx_quiet(*(shmem_ctx_t *)context);
    return NULL;
}

TEST(COL_6, "collectives leave the user's contexts alone: another thread goes on with its puts", .bare = 1)
{
    int provided;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    static long source[1] = {3}, total[1];
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    bool threaded = provided == SHMEM_THREAD_MULTIPLE;
    if (!threaded && me == 0) printf("SKIP thread: SHMEM_THREAD_MULTIPLE is not provided, puts come first\n");
    pthread_t putting;
    if (threaded) CHECK_EQ(pthread_create(&putting, NULL, put_on_a_context, &context), 0);
    else put_on_a_context(&context);
    for (int i = 0; i < 300; i++) {
        CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, total, source, 1), 0);
        CHECK_EQ(total[0], 3L * npes);
        CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    }
    if (threaded) CHECK_EQ(pthread_join(putting, NULL), 0);
    shmem_barrier_all();
    for (long i = 0; i < PUTS; i++) CHECK_EQ(counted[i], i + 1);
    shmem_ctx_destroy(context);
    shmem_finalize();
}

/* Threads on different teams: THR-6 wants their collectives to run in parallel. */
struct worker {
    shmem_team_t team;
    int size;
    long *source, *dest;
};

static void *reduce_repeatedly(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(shmem_long_sum_reduce(w->team, w->dest, w->source, 1), 0);
        CHECK_EQ(w->dest[0], 5L * w->size);
        CHECK_EQ(shmem_team_sync(w->team), 0);
    }
    return NULL;
}

TEST(THR_6, "two threads run collectives on two teams of the same PEs in parallel", .bare = 1)
{
    int provided;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    static long source[2] = {5, 5}, dest[2];
    if (provided == SHMEM_THREAD_MULTIPLE) {
        shmem_team_t first = split(SHMEM_TEAM_WORLD, 0, 1, npes), second = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
        struct worker here = {first, npes, &source[0], &dest[0]}, there = {second, npes, &source[1], &dest[1]};
        pthread_t other;
        CHECK_EQ(pthread_create(&other, NULL, reduce_repeatedly, me % 2 ? &here : &there), 0);
        reduce_repeatedly(me % 2 ? &there : &here);
        CHECK_EQ(pthread_join(other, NULL), 0);
        shmem_barrier_all();
        shmem_team_destroy(first);
        shmem_team_destroy(second);
    } else if (me == 0) {
        printf("SKIP: SHMEM_THREAD_MULTIPLE is not provided\n");
    }
    shmem_finalize();
}

#define NOTHING_OF(NAME, T) \
    CHECK_EQ(shmem_##NAME##_broadcast(team, NULL, NULL, 0, 0), 0); \
    CHECK_EQ(shmem_##NAME##_collect(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_fcollect(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_alltoall(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_alltoalls(team, NULL, NULL, 1, 1, 0), 0); \
    CHECK_EQ(shmem_##NAME##_max_reduce(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_min_reduce(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_sum_reduce(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_prod_reduce(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_sum_inscan(team, NULL, NULL, 0), 0); \
    CHECK_EQ(shmem_##NAME##_sum_exscan(team, NULL, NULL, 0), 0);

TEST(COL_8, "count 0 with NULL pointers ends everywhere, and the team goes on working", .also = "SYM-9")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(member_of, teams) {
        shmem_team_t team = member_of->handle;
        NOTHING_OF(char, char)
        NOTHING_OF(int, int)
        NOTHING_OF(double, double)
        NOTHING_OF(longdouble, long double)
        CHECK_EQ(shmem_broadcastmem(team, NULL, NULL, 0, 0), 0);
        CHECK_EQ(shmem_collectmem(team, NULL, NULL, 0), 0);
        CHECK_EQ(shmem_fcollectmem(team, NULL, NULL, 0), 0);
        CHECK_EQ(shmem_alltoallmem(team, NULL, NULL, 0), 0);
        CHECK_EQ(shmem_alltoallsmem(team, NULL, NULL, 1, 1, 0), 0);
        CHECK(is_team(team, &member_of->members));
    }
    destroy_teams(teams);
}

TEST(COL_9, "a team of one PE copies source to dest where a copy is due")
{
    static long source[4], dest[4];
    struct team alone = {.handle = SHMEM_TEAM_INVALID};
    struct members all = everyone();
    for (int pe = 0; pe < npes; pe++) {
        shmem_team_t team = split(SHMEM_TEAM_WORLD, pe, 1, 1);
        if (pe == me) alone = (struct team){"alone", team, triplet_of(&all, pe, 1, 1)};
    }
    for (int kind = 0; kind < KINDS; kind++) {
        struct call c = {.team = &alone, .kind = kind, .step = kind, .root = 0, .count = 2, .source = source, .dest = dest};
        memset(dest, 0xee, sizeof dest);
        fill_source(&c);
        CHECK_EQ(perform(&c), 0);
        CHECK(result_is_right(&c));
        if (kind == 11) CHECK(dest[0] == 0 && dest[1] == 0);
    }
    shmem_team_destroy(alone.handle);
}
