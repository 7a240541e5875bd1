/* Contexts of teams: every transfer, atomic and signal on them counts PEs inside the team. */
#include "../transfers.h"
#include "membership.h"

enum { ELEMENTS = 6, LANDING = 2 * ELEMENTS * 16, KINDS = 7 };

static _Alignas(16) unsigned char own_data[LANDING], landing[KINDS][LANDING];
static uint64_t arrived[2];

static void fill_pattern(unsigned char *bytes, size_t count, int world)
{
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)mix((uint64_t)world, i);
}

/* Elements `stride` apart in `got` carry the values of the elements of a PE's pattern. */
static int holds_pattern(const char *form, const unsigned char *got, ptrdiff_t stride, size_t count, size_t size, size_t value, int world)
{
    unsigned char want[LANDING];
    fill_pattern(want, sizeof want, world);
    for (size_t i = 0; i < count; i++)
        if (memcmp(got + i * (size_t)stride * size, want + i * size, value) != 0) {
            fprintf(stderr, "PE %d, %s: element %zu is not that of PE %d\n", me, form, i, world);
            return 0;
        }
    return 1;
}

static int on_a_context(const struct transfers *form)
{
    return strncmp(form->name, "ctx", 3) == 0 || strncmp(form->name, "generic_ctx", 11) == 0;
}

/* Each member writes to the next one in the team and then reads from it. */
static void transfer_around(const struct team *team, const struct transfers *form)
{
    int mine = shmem_team_my_pe(team->handle), n = team->members.size, next = (mine + 1) % n;
    int previous_world = team->members.world[(mine + n - 1) % n], next_world = team->members.world[next];
    fill_pattern(own_data, sizeof own_data, me);
    memset(landing, 0, sizeof landing);
    arrived[0] = arrived[1] = 0;
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    form->put(landing[0], own_data, ELEMENTS, next);
    form->put_nbi(landing[1], own_data, ELEMENTS, next);
    form->put_signal(landing[2], own_data, ELEMENTS, &arrived[0], 7, SHMEM_SIGNAL_SET, next);
    form->put_signal_nbi(landing[3], own_data, ELEMENTS, &arrived[1], 9, SHMEM_SIGNAL_ADD, next);
    if (form->iput) form->iput(landing[4], own_data, 2, 1, ELEMENTS, next);
    if (form->ibput) form->ibput(landing[5], own_data, 2, 2, 2, ELEMENTS / 2, next);
    if (form->p) form->p(landing[6], own_data, next);
    shmem_signal_wait_until(&arrived[0], SHMEM_CMP_EQ, 7);
    shmem_signal_wait_until(&arrived[1], SHMEM_CMP_EQ, 9);
    CHECK(holds_pattern(form->name, landing[2], 1, ELEMENTS, form->size, form->size, previous_world));
    CHECK(holds_pattern(form->name, landing[3], 1, ELEMENTS, form->size, form->size, previous_world));
    shmem_ctx_quiet(transfer_context);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    CHECK(holds_pattern(form->name, landing[0], 1, ELEMENTS, form->size, form->size, previous_world));
    CHECK(holds_pattern(form->name, landing[1], 1, ELEMENTS, form->size, form->size, previous_world));
    if (form->iput) CHECK(holds_pattern(form->name, landing[4], 2, ELEMENTS, form->size, form->size, previous_world));
    if (form->ibput) CHECK(holds_pattern(form->name, landing[5], 1, ELEMENTS, form->size, form->size, previous_world));
    if (form->p) CHECK(holds_pattern(form->name, landing[6], 1, 1, form->size, form->value, previous_world));
    CHECK_EQ(shmem_team_sync(team->handle), 0);

    memset(landing, 0, sizeof landing);
    form->get(landing[0], own_data, ELEMENTS, next);
    form->get_nbi(landing[1], own_data, ELEMENTS, next);
    if (form->iget) form->iget(landing[2], own_data, 2, 1, ELEMENTS, next);
    if (form->ibget) form->ibget(landing[3], own_data, 2, 2, 2, ELEMENTS / 2, next);
    if (form->g) form->g(landing[4], own_data, next);
    shmem_ctx_quiet(transfer_context);
    CHECK(holds_pattern(form->name, landing[0], 1, ELEMENTS, form->size, form->size, next_world));
    CHECK(holds_pattern(form->name, landing[1], 1, ELEMENTS, form->size, form->size, next_world));
    if (form->iget) CHECK(holds_pattern(form->name, landing[2], 2, ELEMENTS, form->size, form->size, next_world));
    if (form->ibget) CHECK(holds_pattern(form->name, landing[3], 1, ELEMENTS, form->size, form->size, next_world));
    if (form->g) CHECK(holds_pattern(form->name, landing[4], 1, 1, form->size, form->value, next_world));
    CHECK_EQ(shmem_team_sync(team->handle), 0);
}

TEST(CTX_2_transfers, "every context form of put and get counts PEs inside the team")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        REQUIRE(shmem_team_create_ctx(team->handle, 0, &transfer_context) == 0);
        FOR_EACH_TRANSFER(form) if (on_a_context(form)) transfer_around(team, form);
        shmem_ctx_destroy(transfer_context);
    }
    destroy_teams(teams);
}

/* Each member is the only one that works on the cell of the next member, so every result is known. */
#define INTEGER_ATOMICS(NAME, T) \
    static void NAME##_around(shmem_ctx_t ctx, shmem_team_t team, int next, int previous_world) { \
        static T cell; \
        T start = (T)(me + 3), old[6]; \
        cell = 0; \
        CHECK_EQ(shmem_team_sync(team), 0); \
        shmem_ctx_##NAME##_atomic_set(ctx, &cell, start, next); \
        shmem_ctx_quiet(ctx); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch(ctx, &cell, next), start); \
        shmem_ctx_##NAME##_atomic_add(ctx, &cell, 10, next); \
        shmem_ctx_##NAME##_atomic_inc(ctx, &cell, next); \
        shmem_ctx_quiet(ctx); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_add(ctx, &cell, 20, next), start + 11); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_inc(ctx, &cell, next), start + 31); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_compare_swap(ctx, &cell, start, 1, next), start + 32); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_compare_swap(ctx, &cell, start + 32, start + 40, next), start + 32); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_swap(ctx, &cell, start + 50, next), start + 40); \
        shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &old[0], &cell, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, &old[1], &cell, 5, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &old[2], &cell, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, &old[3], &cell, start + 56, start + 60, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &old[4], &cell, start + 70, next); \
        shmem_ctx_quiet(ctx); \
        CHECK_EQ(old[0], start + 50); \
        CHECK_EQ(old[1], start + 50); \
        CHECK_EQ(old[2], start + 55); \
        CHECK_EQ(old[3], start + 56); \
        CHECK_EQ(old[4], start + 60); \
        CHECK_EQ(shmem_team_sync(team), 0); \
        CHECK_EQ(shmem_##NAME##_atomic_fetch(&cell, me), previous_world + 73); \
        CHECK_EQ(shmem_team_sync(team), 0); \
    }
ATOMIC_INTEGERS(INTEGER_ATOMICS)

#define BITWISE_ATOMICS(NAME, T) \
    static void NAME##_bits_around(shmem_ctx_t ctx, shmem_team_t team, int next, int previous_world) { \
        static T cell; \
        T tag = (T)(me + 1) << 8, old[3]; \
        cell = 0x0f; \
        CHECK_EQ(shmem_team_sync(team), 0); \
        shmem_ctx_##NAME##_atomic_or(ctx, &cell, tag, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_xor(ctx, &cell, 0xff, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_and(ctx, &cell, ~(T)0x30, next); \
        shmem_ctx_quiet(ctx); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_or(ctx, &cell, 0x01, next), tag | 0xc0); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_xor(ctx, &cell, 0x03, next), tag | 0xc1); \
        CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_and(ctx, &cell, ~(T)0x40, next), tag | 0xc2); \
        shmem_ctx_##NAME##_atomic_fetch_or_nbi(ctx, &old[0], &cell, 0x10, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_fetch_xor_nbi(ctx, &old[1], &cell, 0x30, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_fetch_and_nbi(ctx, &old[2], &cell, ~(T)0x02, next); \
        shmem_ctx_quiet(ctx); \
        CHECK_EQ(old[0], tag | 0x82); \
        CHECK_EQ(old[1], tag | 0x92); \
        CHECK_EQ(old[2], tag | 0xa2); \
        CHECK_EQ(shmem_team_sync(team), 0); \
        CHECK_EQ(shmem_##NAME##_atomic_fetch(&cell, me), (T)(previous_world + 1) << 8 | 0xa0); \
        CHECK_EQ(shmem_team_sync(team), 0); \
    }
ATOMIC_BITWISE(BITWISE_ATOMICS)

#define FLOAT_ATOMICS(NAME, T) \
    static void NAME##_around(shmem_ctx_t ctx, shmem_team_t team, int next, int previous_world) { \
        static T cell; \
        T start = (T)(me + 0.5), old[2]; \
        cell = 0; \
        CHECK_EQ(shmem_team_sync(team), 0); \
        shmem_ctx_##NAME##_atomic_set(ctx, &cell, start, next); \
        shmem_ctx_quiet(ctx); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch(ctx, &cell, next) == start); \
        CHECK(shmem_ctx_##NAME##_atomic_swap(ctx, &cell, start + 1, next) == start); \
        shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &old[0], &cell, next); \
        shmem_ctx_quiet(ctx); \
        shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &old[1], &cell, start + 2, next); \
        shmem_ctx_quiet(ctx); \
        CHECK(old[0] == start + 1 && old[1] == start + 1); \
        CHECK_EQ(shmem_team_sync(team), 0); \
        CHECK(shmem_##NAME##_atomic_fetch(&cell, me) == (T)(previous_world + 2.5)); \
        CHECK_EQ(shmem_team_sync(team), 0); \
    }
ATOMIC_FLOATS(FLOAT_ATOMICS)

#define AROUND(NAME, T) NAME##_around,
#define BITS_AROUND(NAME, T) NAME##_bits_around,

TEST(CTX_2_atomics, "every context form of the atomics counts PEs inside the team")
{
    static void (*const rounds[])(shmem_ctx_t, shmem_team_t, int, int) = {
            ATOMIC_INTEGERS(AROUND) ATOMIC_FLOATS(AROUND) ATOMIC_BITWISE(BITS_AROUND)};
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        shmem_ctx_t context;
        REQUIRE(shmem_team_create_ctx(team->handle, 0, &context) == 0);
        int mine = shmem_team_my_pe(team->handle), n = team->members.size;
        for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
            rounds[i](context, team->handle, (mine + 1) % n, team->members.world[(mine + n - 1) % n]);
        shmem_ctx_destroy(context);
    }
    destroy_teams(teams);
}

TEST(CTX_2_signals, "signal updates and pe_quiet on a team's context count PEs inside the team")
{
    static uint64_t set, added;
    static long data;
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        shmem_ctx_t context;
        REQUIRE(shmem_team_create_ctx(team->handle, 0, &context) == 0);
        int mine = shmem_team_my_pe(team->handle), n = team->members.size, next = (mine + 1) % n;
        uint64_t previous = (uint64_t)team->members.world[(mine + n - 1) % n];
        set = 0;
        added = 1000;
        data = -1;
        CHECK_EQ(shmem_team_sync(team->handle), 0);
        shmem_ctx_long_p(context, &data, me, next);
        shmem_ctx_pe_quiet(context, &next, 1);
        shmem_ctx_signal_set(context, &set, (uint64_t)me + 1, next);
        shmem_ctx_signal_add(context, &added, (uint64_t)me + 1, next);
        CHECK_EQ(shmem_signal_wait_until(&set, SHMEM_CMP_NE, 0), previous + 1);
        CHECK_EQ(shmem_signal_wait_until(&added, SHMEM_CMP_NE, 1000), 1001 + previous);
        CHECK_EQ(data, previous);
        CHECK_EQ(shmem_team_sync(team->handle), 0);
        shmem_ctx_destroy(context);
    }
    destroy_teams(teams);
}

TEST(CTX_3_teams, "a team made without a number of contexts still gets some, and so does one that asked for fewer")
{
    enum { WANTED = 8 };
    shmem_team_config_t few = {.num_contexts = 1};
    shmem_team_t teams[2];
    teams[0] = split(SHMEM_TEAM_WORLD, 0, 1, npes);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &few, SHMEM_TEAM_NUM_CONTEXTS, &teams[1]), 0);
    for (int t = 0; t < 2; t++) {
        static long cells[WANTED];
        shmem_ctx_t contexts[WANTED];
        int made = 0;
        while (made < WANTED && shmem_team_create_ctx(teams[t], 0, &contexts[made]) == 0) made++;
        CHECK(made >= 1);
        if (made < WANTED) CHECK(contexts[made] == SHMEM_CTX_INVALID);
        for (int i = 0; i < made; i++) shmem_ctx_long_p(contexts[i], &cells[i], 100 * t + i, (me + 1) % npes);
        for (int i = 0; i < made; i++) shmem_ctx_quiet(contexts[i]);
        shmem_barrier_all();
        static long everyone_made[1], fewest[1];
        everyone_made[0] = made;
        CHECK_EQ(shmem_long_min_reduce(SHMEM_TEAM_WORLD, fewest, everyone_made, 1), 0);
        for (int i = 0; i < fewest[0]; i++) CHECK_EQ(cells[i], 100 * t + i);
        for (int i = 0; i < made; i++) shmem_ctx_destroy(contexts[i]);
        shmem_barrier_all();
        shmem_team_destroy(teams[t]);
    }
}

TEST(CTX_7_teams, "ctx_get_team gives back the very handle the context was made from")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        shmem_ctx_t context;
        shmem_team_t owner = SHMEM_TEAM_INVALID;
        REQUIRE(shmem_team_create_ctx(team->handle, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &context) == 0);
        CHECK_EQ(shmem_ctx_get_team(context, &owner), 0);
        CHECK(owner == team->handle);
        shmem_ctx_destroy(context);
    }
    destroy_teams(teams);
}
