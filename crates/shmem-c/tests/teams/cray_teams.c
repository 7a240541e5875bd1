/* The team extensions: a split that only its members call, splits by colour and into grids, and errors that end the job. */
#include "membership.h"

#include <shmemx.h>

/* The members in the order of their world numbers. */
static struct members by_world_number(struct members members)
{
    struct members sorted = {0};
    for (int pe = 0; pe < npes; pe++)
        if (place_of(&members, pe) >= 0) sorted.world[sorted.size++] = pe;
    return sorted;
}

static shmem_team_t strided(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmemx_team_split_strided(parent, start, stride, size, &team);
    return team;
}

TEST(EXT_1, "shmemx_team_split_strided: every triplet with positive stride; outsiders that call get SHMEM_TEAM_NULL")
{
    CHECK(SHMEM_TEAM_NULL == SHMEM_TEAM_INVALID);
    struct members all = everyone();
    for (int start = 0; start < npes; start++)
        for (int stride = 1; stride <= npes; stride++)
            for (int size = 1; start + (size - 1) * stride < npes; size++) {
                shmem_team_t team = strided(SHMEM_TEAM_WORLD, start, stride, size);
                struct members want = triplet_of(&all, start, stride, size);
                CHECK(is_team(team, &want));
                if (team != SHMEM_TEAM_NULL) {
                    shmemx_team_destroy(&team);
                    CHECK(team == SHMEM_TEAM_NULL);
                }
            }
}

TEST(EXT_2, "shmemx_team_create_strided counts in the world")
{
    struct members all = everyone(), want = triplet_of(&all, npes / 2, 1, npes - npes / 2);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmemx_team_create_strided(npes / 2, 1, npes - npes / 2, &team);
    CHECK(is_team(team, &want));
    if (team != SHMEM_TEAM_NULL) shmemx_team_destroy(&team);
}

TEST(VND_1, "outsiders may stay away, also some of them and now and then, and the parent stays in step", .min_pes = 2)
{
    struct members all = everyone(), members = triplet_of(&all, 0, 2, (npes + 1) / 2);
    bool member = my_place(&members) >= 0;
    for (int i = 0; i < 300; i++) {
        bool calls = member || (mix((uint64_t)i, (uint64_t)me) & 1);
        shmem_team_t team = calls ? strided(SHMEM_TEAM_WORLD, 0, 2, members.size) : SHMEM_TEAM_NULL;
        CHECK(is_team(team, &members));
        if (i % 10 == 0) CHECK(is_team(SHMEM_TEAM_WORLD, &all));
        if (i % 25 == 0) { /* a standard split, which needs everybody, in between */
            shmem_team_t reversed = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
            struct members backward = triplet_of(&all, npes - 1, -1, npes);
            CHECK(is_team(reversed, &backward));
            shmem_team_destroy(reversed);
        }
        if (member) shmemx_team_destroy(&team);
    }
}

TEST(VND_1_many, "hundreds of teams live at a time")
{
    enum { MANY = 600 };
    static shmem_team_t teams[MANY];
    struct members all = everyone();
    for (int i = 0; i < MANY; i++) teams[i] = strided(SHMEM_TEAM_WORLD, 0, 1, npes);
    for (int i = 0; i < MANY; i += 100) CHECK(is_team(teams[i], &all));
    for (int i = 0; i < MANY; i++) shmemx_team_destroy(&teams[i]);
}

TEST(VND_1_nested, "parents other than the world too, with outsiders that stay away and triplets that alternate", .min_pes = 3)
{
    struct members all = everyone(), backward = triplet_of(&all, npes - 1, -1, npes);
    shmem_team_t parent = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    for (int i = 0; i < 100; i++) {
        int start = i % 2, size = npes - 1;
        struct members chosen = triplet_of(&backward, start, 1, size), want = by_world_number(chosen);
        if (my_place(&want) < 0) continue;
        shmem_team_t team = strided(parent, start, 1, size);
        CHECK(is_team(team, &want));
        shmemx_team_destroy(&team);
    }
    CHECK(is_team(parent, &backward));
    shmem_team_destroy(parent);
}

/* PE 0 splits before the others begin. By then the parent, or the members of the part, have more leases than one. There are more parents
 * than parts that are kept at a time. */
TEST(VND_1_alone, "a split of the whole parent, and of a part that was split before, waits for nobody", .min_pes = 3)
{
    static uint64_t returned;
    struct members all = everyone();
    for (uint64_t round = 1; round <= 80; round++) {
        shmem_team_t parent = split(SHMEM_TEAM_WORLD, 0, 1, npes), team;
        int size = npes - (int)(round % 2);
        struct members want = triplet_of(&all, 0, 1, size);
        for (int i = 0; me < size && i < 11; i++) {
            team = strided(parent, 0, 1, size);
            shmemx_team_destroy(&team);
        }
        shmem_barrier_all();
        if (me > 0 && me < size) shmem_signal_wait_until(&returned, SHMEM_CMP_EQ, round);
        if (me < size) team = strided(parent, 0, 1, size);
        for (int pe = 1; me == 0 && pe < size; pe++) shmem_signal_set(&returned, round, pe);
        shmem_quiet();
        if (me < size) {
            CHECK(is_team(team, &want));
            shmemx_team_destroy(&team);
        }
        shmem_team_destroy(parent);
    }
}

/* More parts at a time than are kept. */
TEST(VND_1_kept, "parts of many parents are split again and again", .min_pes = 2)
{
    enum { PARENTS = 40, ROUNDS = 5 };
    shmem_team_t parents[PARENTS];
    struct members all = everyone(), want = triplet_of(&all, 0, 1, npes - 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PARENTS; i++) {
            parents[i] = split(SHMEM_TEAM_WORLD, 0, 1, npes);
            for (int times = 0; me < npes - 1 && times < 4; times++) {
                shmem_team_t team = strided(parents[i], 0, 1, npes - 1);
                if (round == 0 || i == PARENTS - 1) CHECK(is_team(team, &want));
                shmemx_team_destroy(&team);
            }
        }
        for (int i = 0; i < PARENTS; i++) shmem_team_destroy(parents[i]);
    }
}

/* The members begin only after the outsider has come back from its call. */
TEST(VND_2, "an outsider that calls does not wait for the members", .min_pes = 2)
{
    static uint64_t returned;
    struct members all = everyone(), members = triplet_of(&all, 0, 1, npes - 1);
    shmem_team_t team;
    if (me == npes - 1) {
        team = strided(SHMEM_TEAM_WORLD, 0, 1, npes - 1);
        CHECK(team == SHMEM_TEAM_NULL);
        for (int pe = 0; pe < npes - 1; pe++) shmem_signal_set(&returned, 1, pe);
        shmem_quiet();
    } else {
        shmem_signal_wait_until(&returned, SHMEM_CMP_EQ, 1);
        team = strided(SHMEM_TEAM_WORLD, 0, 1, npes - 1);
        CHECK(is_team(team, &members));
        shmemx_team_destroy(&team);
    }
}

TEST(VND_3, "with a reversed parent the new team counts by world number, the standard's by parent number")
{
    struct members all = everyone(), backward = triplet_of(&all, npes - 1, -1, npes);
    shmem_team_t parent = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    for (int start = 0; start < npes; start++)
        for (int stride = 1; stride <= 2; stride++)
            for (int size = 1; start + (size - 1) * stride < npes; size++) {
                struct members chosen = triplet_of(&backward, start, stride, size), want = by_world_number(chosen);
                shmem_team_t cray = strided(parent, start, stride, size), standard = split(parent, start, stride, size);
                CHECK(is_team(cray, &want));
                CHECK(is_team(standard, &chosen));
                if (cray != SHMEM_TEAM_NULL) shmemx_team_destroy(&cray);
                shmem_team_destroy(standard);
            }
    shmem_team_destroy(parent);
}

TEST(VND_4, "teams of both kinds are of one kind: either split, destroy and query takes the other's")
{
    struct members all = everyone();
    shmem_team_t cray = strided(SHMEM_TEAM_WORLD, 0, 1, npes), standard = split(cray, 0, 1, npes);
    shmem_team_t grandchild = strided(standard, 0, 1, npes);
    CHECK(is_team(grandchild, &all));
    CHECK_EQ(shmemx_team_my_pe(standard), me);
    CHECK_EQ(shmem_team_my_pe(cray), me);
    shmem_team_destroy(cray);
    shmemx_team_destroy(&standard);
    CHECK(standard == SHMEM_TEAM_NULL);
    CHECK(is_team(grandchild, &all));
    shmemx_team_destroy(&grandchild);
}

TEST(EXT_3, "shmemx_team_split: one team per colour, ordered by key, ties by parent number")
{
    struct members all = everyone();
    for (int form = 0; form < 4; form++)
        for (int colours = 1; colours <= 3; colours++) {
            int my_colour = (int)(mix(1, (uint64_t)me) % (uint64_t)colours);
            struct members want = {0};
            for (int key = -1; key <= 1; key++) /* keys run backward from 1, or are all alike */
                for (int pe = 0; pe < npes; pe++) {
                    bool same_colour = (int)(mix(1, (uint64_t)pe) % (uint64_t)colours) == my_colour;
                    if (same_colour && key == (form % 2 ? 1 - pe % 3 : 0)) want.world[want.size++] = pe;
                }
            shmem_team_t team = SHMEM_TEAM_WORLD;
            (form / 2 ? shmemx_team_split_color : shmemx_team_split)(SHMEM_TEAM_WORLD, my_colour, form % 2 ? 1 - me % 3 : 0, &team);
            CHECK(is_team(team, &want));
            shmemx_team_destroy(&team);
        }
    CHECK(is_team(SHMEM_TEAM_WORLD, &all));
}

TEST(EXT_3_undefined, "colour SHMEM_COLOR_UNDEFINED opts out; a colour team with uneven members can be split again", .min_pes = 4)
{
    struct members all = everyone(), want = {.size = 0};
    for (int pe = 0; pe < npes; pe++)
        if (pe != 1) want.world[want.size++] = pe; /* 0, 2, 3, ...: no triplet */
    shmem_team_t uneven = SHMEM_TEAM_WORLD;
    shmemx_team_split(SHMEM_TEAM_WORLD, me == 1 ? SHMEM_COLOR_UNDEFINED : 5, 0, &uneven);
    CHECK(is_team(uneven, &want));
    if (uneven != SHMEM_TEAM_NULL) {
        shmem_team_t reversed = split(uneven, want.size - 1, -1, want.size), row, column;
        struct members backward = triplet_of(&want, want.size - 1, -1, want.size);
        CHECK(is_team(reversed, &backward));
        CHECK_EQ(shmem_team_split_2d(uneven, 2, NULL, 0, &row, NULL, 0, &column), 0);
        CHECK_EQ(shmem_team_translate_pe(row, 0, SHMEM_TEAM_WORLD), want.world[my_place(&want) / 2 * 2]);
        CHECK_EQ(shmem_team_translate_pe(column, 0, SHMEM_TEAM_WORLD), want.world[my_place(&want) % 2]);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
        shmem_team_destroy(reversed);
        shmemx_team_destroy(&uneven);
    }
    CHECK(is_team(SHMEM_TEAM_WORLD, &all));
}

TEST(EXT_4, "shmemx_team_split_2d: both extents are given, PEs beyond the grid get SHMEM_TEAM_NULL twice")
{
    struct members all = everyone();
    for (int xrange = 1; xrange <= npes; xrange++)
        for (int yrange = 1; xrange * yrange <= npes; yrange++) {
            shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
            shmemx_team_split_2d(SHMEM_TEAM_WORLD, xrange, yrange, &row, &column);
            if (me >= xrange * yrange) {
                CHECK(row == SHMEM_TEAM_NULL && column == SHMEM_TEAM_NULL);
                continue;
            }
            struct members want_row = triplet_of(&all, me / xrange * xrange, 1, xrange);
            struct members want_column = triplet_of(&all, me % xrange, xrange, yrange);
            CHECK(is_team(row, &want_row));
            CHECK(is_team(column, &want_column));
            shmemx_team_destroy(&row);
            shmemx_team_destroy(&column);
        }
}

TEST(EXT_5, "shmemx_team_split_3d: x runs fastest, then y, then z; the rest gets SHMEM_TEAM_NULL")
{
    struct members all = everyone();
    int shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {3, 2, 2}, {2, 1, 3}, {1, 2, 3}, {2, 2, 1}, {1, 1, npes}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int x = shapes[i][0], y = shapes[i][1], z = shapes[i][2];
        if (x * y * z > npes) continue;
        shmem_team_t teams[3] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_WORLD, SHMEM_TEAM_WORLD};
        shmemx_team_split_3d(SHMEM_TEAM_WORLD, x, y, z, &teams[0], &teams[1], &teams[2]);
        int at_x = me % x, at_y = me / x % y, at_z = me / (x * y);
        struct members want[3];
        if (at_z < z) {
            want[0] = triplet_of(&all, x * (at_y + y * at_z), 1, x);
            want[1] = triplet_of(&all, at_x + x * y * at_z, x, y);
            want[2] = triplet_of(&all, at_x + x * at_y, x * y, z);
        }
        for (int axis = 0; axis < 3; axis++) {
            if (at_z >= z) {
                CHECK(teams[axis] == SHMEM_TEAM_NULL);
                continue;
            }
            CHECK(is_team(teams[axis], &want[axis]));
            shmemx_team_destroy(&teams[axis]);
        }
    }
}

TEST(EXT_6, "shmemx_team_destroy takes the address of the handle and sets it to SHMEM_TEAM_NULL; teams are recycled")
{
    for (int i = 0; i < 5000; i++) {
        shmem_team_t team = strided(SHMEM_TEAM_WORLD, 0, 1, npes);
        CHECK_EQ(shmem_team_my_pe(team), me);
        shmemx_team_destroy(&team);
        CHECK(team == SHMEM_TEAM_NULL);
    }
}

TEST(EXT_6_every, "every triplet in turn, made and destroyed by its members alone: nothing runs out", .max_pes = 16)
{
    for (int round = 0; round < 3; round++)
        for (int size = 2; size <= npes; size++)
            for (int stride = 1; (size - 1) * stride < npes; stride++)
                for (int start = 0; start + (size - 1) * stride < npes; start++) {
                    int number = (me - start) / stride;
                    if (me < start || start + number * stride != me || number >= size) continue;
                    shmem_team_t team = strided(SHMEM_TEAM_WORLD, start, stride, size);
                    CHECK_EQ(shmem_team_my_pe(team), number);
                    CHECK_EQ(shmem_team_n_pes(team), size);
                    shmemx_team_destroy(&team);
                }
}

TEST(EXT_7, "number, size and translation under their extension names")
{
    shmem_team_t team = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    CHECK_EQ(shmemx_team_my_pe(team), npes - 1 - me);
    CHECK_EQ(shmemx_team_n_pes(team), npes);
    for (int pe = 0; pe < npes; pe++) CHECK_EQ(shmemx_team_translate_pe(team, pe, SHMEM_TEAM_WORLD), npes - 1 - pe);
    shmem_team_t first = strided(SHMEM_TEAM_WORLD, 0, 1, 1);
    if (first != SHMEM_TEAM_NULL)
        for (int pe = 1; pe < npes; pe++) CHECK_EQ(shmemx_team_translate_pe(SHMEM_TEAM_WORLD, pe, first), -1);
    if (first != SHMEM_TEAM_NULL) shmemx_team_destroy(&first);
    shmemx_team_destroy(&team);
}

TEST(EXT_8, "shmemx_team_barrier completes the members' puts and synchronises them")
{
    static long psync[SHMEM_BARRIER_SYNC_SIZE], landed[1];
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++) psync[i] = SHMEM_SYNC_VALUE;
    shmem_team_t team = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    for (int i = 0; i < 50; i++) {
        shmem_long_p(landed, 100 * i + me, (me + 1) % npes);
        shmemx_team_barrier(team, psync);
        CHECK_EQ(landed[0], 100 * i + (me + npes - 1) % npes);
        shmemx_team_barrier(team, psync);
    }
    shmemx_team_destroy(&team);
}

TEST(EXT_10, "the node team holds the caller, works, and is a parent; all its members share memory")
{
    CHECK(SHMEM_TEAM_NODE == SHMEMX_TEAM_NODE);
    struct members node = {.size = shmem_team_n_pes(SHMEM_TEAM_NODE)};
    for (int i = 0; i < node.size; i++) node.world[i] = shmem_team_translate_pe(SHMEM_TEAM_NODE, i, SHMEM_TEAM_WORLD);
    CHECK(is_team(SHMEM_TEAM_NODE, &node));
    CHECK(my_place(&node) >= 0);
    shmem_team_t child = strided(SHMEM_TEAM_NODE, 0, 1, node.size);
    CHECK(is_team(child, &node));
    shmemx_team_destroy(&child);
}

/* Errors: the job ends, and the message names the routine and the argument at fault. */
#define ABORTS(NAME, ROUTINE, ARGUMENT, ...) \
    TEST(EXT_9_##NAME, #ROUTINE " ends the job and names " #ARGUMENT, .aborts = 1, .says = #ROUTINE "|" #ARGUMENT) { __VA_ARGS__; }

static shmem_team_t a, b, c;

ABORTS(negative_start, shmemx_team_split_strided, PE_start, shmemx_team_split_strided(SHMEM_TEAM_WORLD, -1, 1, 1, &a))
ABORTS(large_start, shmemx_team_split_strided, PE_start, shmemx_team_split_strided(SHMEM_TEAM_WORLD, npes, 1, 1, &a))
TEST(EXT_9_zero_stride, "shmemx_team_split_strided ends the job and names PE_stride", .aborts = 1, .min_pes = 2,
     .says = "shmemx_team_split_strided|PE_stride")
{
    shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 0, 2, &a);
}
ABORTS(zero_size, shmemx_team_split_strided, PE_size, shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 0, &a))
ABORTS(large_size, shmemx_team_split_strided, PE_size, shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes + 1, &a))
ABORTS(overflow, shmemx_team_split_strided, PE_s, shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1 << 30, 5, &a))
ABORTS(null_parent, shmemx_team_split_strided, parent_team, shmemx_team_split_strided(SHMEM_TEAM_NULL, 0, 1, 1, &a))
ABORTS(create_start, shmemx_team_create_strided, PE_start, shmemx_team_create_strided(-1, 1, 1, &a))
ABORTS(create_size, shmemx_team_create_strided, PE_size, shmemx_team_create_strided(0, 1, -1, &a))
ABORTS(color_parent, shmemx_team_split, parent_team, shmemx_team_split(SHMEM_TEAM_NULL, 0, 0, &a))
ABORTS(split_color_parent, shmemx_team_split_color, parent_team, shmemx_team_split_color(SHMEM_TEAM_NULL, 0, 0, &a))
ABORTS(color, shmemx_team_split, color, shmemx_team_split(SHMEM_TEAM_WORLD, SHMEM_COLOR_UNDEFINED == -7 ? -8 : -7, 0, &a))
ABORTS(grid_parent, shmemx_team_split_2d, parent_team, shmemx_team_split_2d(SHMEM_TEAM_NULL, 1, 1, &a, &b))
ABORTS(grid_xrange, shmemx_team_split_2d, xrange, shmemx_team_split_2d(SHMEM_TEAM_WORLD, 0, 1, &a, &b))
ABORTS(grid_yrange, shmemx_team_split_2d, yrange, shmemx_team_split_2d(SHMEM_TEAM_WORLD, 1, -1, &a, &b))
ABORTS(grid_too_large, shmemx_team_split_2d, range, shmemx_team_split_2d(SHMEM_TEAM_WORLD, npes, 2, &a, &b))
ABORTS(box_xrange, shmemx_team_split_3d, xrange, shmemx_team_split_3d(SHMEM_TEAM_WORLD, 0, 1, 1, &a, &b, &c))
ABORTS(box_zrange, shmemx_team_split_3d, zrange, shmemx_team_split_3d(SHMEM_TEAM_WORLD, 1, 1, 0, &a, &b, &c))
ABORTS(box_too_large, shmemx_team_split_3d, range, shmemx_team_split_3d(SHMEM_TEAM_WORLD, 1 << 16, 1 << 16, 1, &a, &b, &c))
ABORTS(destroy_world, shmemx_team_destroy, team, a = SHMEM_TEAM_WORLD; shmemx_team_destroy(&a))
ABORTS(destroy_node, shmemx_team_destroy, team, a = SHMEM_TEAM_NODE; shmemx_team_destroy(&a))
ABORTS(translate_from_null, shmemx_team_translate_pe, team1, shmemx_team_translate_pe(SHMEM_TEAM_NULL, 0, SHMEM_TEAM_WORLD))
ABORTS(translate_to_null, shmemx_team_translate_pe, team2, shmemx_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_NULL))
ABORTS(my_pe_of_null, shmemx_team_my_pe, team, shmemx_team_my_pe(SHMEM_TEAM_NULL))
ABORTS(mype_of_null, shmemx_team_mype, team, shmemx_team_mype(SHMEM_TEAM_NULL))
ABORTS(n_pes_of_null, shmemx_team_n_pes, team, shmemx_team_n_pes(SHMEM_TEAM_NULL))
ABORTS(npes_of_null, shmemx_team_npes, team, shmemx_team_npes(SHMEM_TEAM_NULL))
ABORTS(config_null, shmemx_team_get_config, config, shmemx_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, NULL))

/* A handle that was destroyed is noticed from this level on. */
TEST(EXT_9_dead_team, "shmemx_team_ctx_create ends the job and names the team", .aborts = 1, .env = "SHMEM_CHECK=2",
     .says = "shmemx_team_ctx_create|team")
{
    shmem_ctx_t context;
    a = b = strided(SHMEM_TEAM_WORLD, 0, 1, npes);
    shmemx_team_destroy(&a);
    shmemx_team_ctx_create(b, 0, &context);
}

TEST(EXT_9_dead_context, "shmemx_ctx_get_team ends the job and names the context", .aborts = 1, .env = "SHMEM_CHECK=2",
     .says = "shmemx_ctx_get_team|context")
{
    shmem_ctx_t context;
    shmem_ctx_create(0, &context);
    shmem_ctx_destroy(context);
    shmemx_ctx_get_team(context, &a);
}
