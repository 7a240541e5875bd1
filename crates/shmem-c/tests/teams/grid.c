/* shmem_team_split_2d: rows are the x-axis teams, columns the y-axis teams, all in parent numbers. */
#include "membership.h"

static struct members row_of(const struct members *parent, int xrange, int place)
{
    int first = place / xrange * xrange, left = parent->size - first;
    return triplet_of(parent, first, 1, left < xrange ? left : xrange);
}

static struct members column_of(const struct members *parent, int xrange, int place)
{
    int x = place % xrange;
    return triplet_of(parent, x, xrange, (parent->size - x + xrange - 1) / xrange);
}

/* Splits and compares with the definition. Collective over the parent. */
static void check_grid(shmem_team_t parent, const struct members *members, int xrange)
{
    shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
    CHECK_EQ(shmem_team_split_2d(parent, xrange, NULL, 0, &row, NULL, 0, &column), 0);
    int width = xrange < members->size ? xrange : members->size, place = my_place(members);
    struct members want_row = row_of(members, width, place), want_column = column_of(members, width, place);
    CHECK(is_team(row, &want_row));
    CHECK(is_team(column, &want_column));
    CHECK_EQ(shmem_team_my_pe(row), place % width);
    CHECK_EQ(shmem_team_my_pe(column), place / width);
    shmem_team_destroy(column);
    shmem_team_destroy(row);
}

/* Collective over the world, for one PE count of the worked cases. */
static void check_worked_case(int xrange, const struct members *rows, const struct members *columns)
{
    shmem_team_t row, column;
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column), 0);
    int found = 0;
    for (const struct members *want = rows; want->size > 0; want++)
        if (my_place(want) >= 0) found++, CHECK(is_team(row, want));
    for (const struct members *want = columns; want->size > 0; want++)
        if (my_place(want) >= 0) found++, CHECK(is_team(column, want));
    CHECK_EQ(found, 2);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

#define LISTS(...) (const struct members[]){__VA_ARGS__, {0}}

TEST(T2D_1, "configurations only have to agree inside a resulting team")
{
    int xrange = npes > 1 ? 2 : 1;
    shmem_team_config_t of_row = {.num_contexts = me / xrange}, of_column = {.num_contexts = me % xrange}, got;
    shmem_team_t row, column;
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, &of_row, SHMEM_TEAM_NUM_CONTEXTS, &row, &of_column,
                               SHMEM_TEAM_NUM_CONTEXTS, &column), 0);
    CHECK_EQ(shmem_team_get_config(row, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, me / xrange);
    CHECK_EQ(shmem_team_get_config(column, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, me % xrange);
    struct members all = everyone(), want_row = row_of(&all, xrange, me), want_column = column_of(&all, xrange, me);
    CHECK(is_team(row, &want_row) && is_team(column, &want_column));
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

TEST(T2D_2, "an xrange above N acts as N, and one below 1 is refused everywhere")
{
    struct members all = everyone();
    int wide[] = {all.size + 1, 2 * all.size, INT_MAX};
    for (int i = 0; i < 3; i++) check_grid(SHMEM_TEAM_WORLD, &all, wide[i]);
    int impossible[] = {0, -1, INT_MIN};
    for (int i = 0; i < 3; i++) {
        shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, impossible[i], NULL, 0, &row, NULL, 0, &column) != 0);
        CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    }
}

TEST(T2D_3, "every xrange of the world: yrange is the ceiling, p lies at (p mod xrange, p div xrange)")
{
    struct members all = everyone();
    for (int xrange = 1; xrange <= all.size; xrange++) check_grid(SHMEM_TEAM_WORLD, &all, xrange);
}

TEST(T2D_4, "the x-axis team is the one with up to xrange members", .min_pes = 3)
{
    shmem_team_t row, column;
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, npes - 1, NULL, 0, &row, NULL, 0, &column), 0);
    bool in_last_row = me == npes - 1;
    CHECK_EQ(shmem_team_n_pes(row), in_last_row ? 1 : npes - 1);
    CHECK_EQ(shmem_team_n_pes(column), me == 0 || in_last_row ? 2 : 1);
    CHECK_EQ(shmem_team_my_pe(row), in_last_row ? 0 : me);
    CHECK_EQ(shmem_team_my_pe(column), in_last_row ? 1 : 0);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

TEST(T2D_5, "no parent PE is ever left without a row or a column")
{
    for (int xrange = 1; xrange <= npes + 1; xrange++) {
        shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
        CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column), 0);
        CHECK(row != SHMEM_TEAM_INVALID && column != SHMEM_TEAM_INVALID);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

TEST(T2D_6, "sizes of the last row and of every column")
{
    int n = npes;
    for (int xrange = 1; xrange <= n; xrange++) {
        shmem_team_t row, column;
        CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column), 0);
        int rows = (n + xrange - 1) / xrange;
        bool short_row = me / xrange == rows - 1 && n % xrange != 0;
        CHECK_EQ(shmem_team_n_pes(row), short_row ? n % xrange : xrange);
        CHECK_EQ(shmem_team_n_pes(column), n / xrange + (me % xrange < n % xrange ? 1 : 0));
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

TEST(T2D_7_10_3, "worked case: 10 PEs, xrange 3", .min_pes = 10, .max_pes = 10)
{
    check_worked_case(3, LISTS({3, {0, 1, 2}}, {3, {3, 4, 5}}, {3, {6, 7, 8}}, {1, {9}}),
                    LISTS({4, {0, 3, 6, 9}}, {3, {1, 4, 7}}, {3, {2, 5, 8}}));
}

TEST(T2D_7_12_3, "worked case: 12 PEs, xrange 3", .min_pes = 12, .max_pes = 12)
{
    check_worked_case(3, LISTS({3, {0, 1, 2}}, {3, {3, 4, 5}}, {3, {6, 7, 8}}, {3, {9, 10, 11}}),
                    LISTS({4, {0, 3, 6, 9}}, {4, {1, 4, 7, 10}}, {4, {2, 5, 8, 11}}));
}

TEST(T2D_7_7_4, "worked case: 7 PEs, xrange 4", .min_pes = 7, .max_pes = 7)
{
    check_worked_case(4, LISTS({4, {0, 1, 2, 3}}, {3, {4, 5, 6}}), LISTS({2, {0, 4}}, {2, {1, 5}}, {2, {2, 6}}, {1, {3}}));
}

TEST(T2D_7_5_8, "worked case: 5 PEs, xrange 8", .min_pes = 5, .max_pes = 5)
{
    check_worked_case(8, LISTS({5, {0, 1, 2, 3, 4}}), LISTS({1, {0}}, {1, {1}}, {1, {2}}, {1, {3}}, {1, {4}}));
}

TEST(T2D_7_6_1, "worked case: 6 PEs, xrange 1", .min_pes = 6, .max_pes = 6)
{
    check_worked_case(1, LISTS({1, {0}}, {1, {1}}, {1, {2}}, {1, {3}}, {1, {4}}, {1, {5}}), LISTS({6, {0, 1, 2, 3, 4, 5}}));
}

TEST(T2D_7_1_1, "worked case: 1 PE, xrange 1", .min_pes = 1, .max_pes = 1)
{
    check_worked_case(1, LISTS({1, {0}}), LISTS({1, {0}}));
}

/* Each team is counted once, by its member 0. Collective over the world. */
static int distinct_teams(shmem_team_t mine)
{
    static int first[1], teams[1];
    first[0] = shmem_team_my_pe(mine) == 0;
    shmem_barrier_all();
    CHECK_EQ(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, teams, first, 1), 0);
    return teams[0];
}

TEST(T2D_8, "there are ceiling(N/xrange) rows and min(xrange, N) columns")
{
    int n = npes;
    for (int xrange = 1; xrange <= n + 2; xrange++) {
        shmem_team_t row, column;
        CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column), 0);
        CHECK_EQ(distinct_teams(row), (n + xrange - 1) / xrange);
        CHECK_EQ(distinct_teams(column), xrange < n ? xrange : n);
        if (n == 10 && xrange == 3) CHECK_EQ(distinct_teams(row) + distinct_teams(column), 7);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

TEST(T2D_9, "12 PEs as 3 x 2 x 2: 4 x-teams, 6 y-teams, 6 z-teams with exact members and coordinates", .min_pes = 12,
                        .max_pes = 12)
{
    int p = me, x = p % 3, y = p / 3 % 2, z = p / 6;
    shmem_team_t x_team, yz_team, y_team, z_team;
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &x_team, NULL, 0, &yz_team), 0);
    struct members yz_members = {4, {x, x + 3, x + 6, x + 9}};
    CHECK(is_team(yz_team, &yz_members));
    CHECK_EQ(distinct_teams(yz_team), 3);
    CHECK_EQ(shmem_team_split_2d(yz_team, 2, NULL, 0, &y_team, NULL, 0, &z_team), 0);
    shmem_team_destroy(yz_team); /* its children live on */

    const struct members *y_teams = LISTS({2, {0, 3}}, {2, {1, 4}}, {2, {2, 5}}, {2, {6, 9}}, {2, {7, 10}}, {2, {8, 11}});
    const struct members *z_teams = LISTS({2, {0, 6}}, {2, {1, 7}}, {2, {2, 8}}, {2, {3, 9}}, {2, {4, 10}}, {2, {5, 11}});
    struct members x_members = {3, {3 * (p / 3), 3 * (p / 3) + 1, 3 * (p / 3) + 2}};
    CHECK(is_team(x_team, &x_members));
    CHECK(is_team(y_team, &y_teams[x + 3 * z]));
    CHECK(is_team(z_team, &z_teams[x + 3 * y]));
    CHECK_EQ(shmem_team_my_pe(x_team), x);
    CHECK_EQ(shmem_team_my_pe(y_team), y);
    CHECK_EQ(shmem_team_my_pe(z_team), z);
    CHECK_EQ(distinct_teams(x_team), 4);
    CHECK_EQ(distinct_teams(y_team), 6);
    CHECK_EQ(distinct_teams(z_team), 6);
    shmem_team_destroy(x_team);
    shmem_team_destroy(y_team);
    shmem_team_destroy(z_team);
}

TEST(T2D_10, "an invalid parent needs no partner and yields two invalid handles")
{
    if (me == 0) {
        shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 2, NULL, 0, &row, NULL, 0, &column) != 0);
        CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    }
}

TEST(T2D_11, "every xrange of reversed, strided and nested parents, in parent numbers")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(parent, teams)
        for (int xrange = 1; xrange <= parent->members.size + 1; xrange++) check_grid(parent->handle, &parent->members, xrange);
    destroy_teams(teams);
}
