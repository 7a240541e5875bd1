/* Team handles and the local questions one may ask them. */
#include "membership.h"

static shmem_team_t world_from_initialiser = SHMEM_TEAM_WORLD;
static shmem_team_t shared_from_initialiser = SHMEM_TEAM_SHARED;
static shmem_team_t invalid_from_initialiser = SHMEM_TEAM_INVALID;

TEST(TEAM_1, "predefined handles work as initialisers and name teams that contain the caller")
{
    CHECK(world_from_initialiser == SHMEM_TEAM_WORLD);
    CHECK(shared_from_initialiser == SHMEM_TEAM_SHARED);
    CHECK(invalid_from_initialiser == SHMEM_TEAM_INVALID);
    CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID && SHMEM_TEAM_SHARED != SHMEM_TEAM_INVALID);
    struct members all = everyone();
    CHECK(is_team(SHMEM_TEAM_WORLD, &all));
    int mine = shmem_team_my_pe(SHMEM_TEAM_SHARED);
    CHECK(mine >= 0 && mine < shmem_team_n_pes(SHMEM_TEAM_SHARED));
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, mine, SHMEM_TEAM_WORLD), me);
}

TEST(TEAM_1_shared, "the shared team is a working team whose members map each other's heap", .one_node = 1)
{
    struct members sharing = {.size = shmem_team_n_pes(SHMEM_TEAM_SHARED)};
    for (int i = 0; i < sharing.size; i++)
        sharing.world[i] = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
    CHECK(is_team(SHMEM_TEAM_SHARED, &sharing));
    long *object = shmem_malloc(sizeof *object);
  *object = 1000 + me;
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) {
        long *mapped = shmem_ptr(object, pe);
        CHECK_EQ(mapped != NULL, place_of(&sharing, pe) >= 0);
        if (mapped != NULL) CHECK_EQ(*mapped, 1000 + pe);
    }
    shmem_barrier_all();
    shmem_free(object);
}

TEST(TEAM_2, "the numbers of every team are 0 to N-1 without gaps")
{
    struct team teams[SHAPES];
    make_teams(teams);
    for (int i = 0; i < SHAPES; i++) CHECK(queries_agree(teams[i].handle, &teams[i].members));
    destroy_teams(teams);
}

TEST(TEAM_3, "the invalid team answers every query as the standard says")
{
    static long object;
    CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
    CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_INVALID), -1);
    shmem_team_config_t config = {.num_contexts = 1234};
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK_EQ(config.num_contexts, 1234);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    shmem_ctx_t context = SHMEM_CTX_DEFAULT;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context) != 0);
    CHECK(context == SHMEM_CTX_INVALID);
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &object, 0) == NULL);
}

TEST(TEAM_3_splits, "splitting the invalid team fails and hands out invalid handles")
{
    shmem_team_t team = SHMEM_TEAM_WORLD, row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &row, NULL, 0, &column) != 0);
    CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
}

TEST(TEAM_4, "translation between any two teams, for members, outsiders and numbers that are none")
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(from, teams) {
        FOR_EACH_TEAM_OF_MINE(to, teams) {
            for (int i = 0; i < from->members.size; i++)
                CHECK_EQ(shmem_team_translate_pe(from->handle, i, to->handle), place_of(&to->members, from->members.world[i]));
            CHECK_EQ(shmem_team_translate_pe(from->handle, -1, to->handle), -1);
            CHECK_EQ(shmem_team_translate_pe(from->handle, from->members.size, to->handle), -1);
            CHECK_EQ(shmem_team_translate_pe(from->handle, INT_MAX, to->handle), -1);
            CHECK_EQ(shmem_team_translate_pe(from->handle, INT_MIN, to->handle), -1);
        }
        CHECK_EQ(shmem_team_translate_pe(from->handle, shmem_team_my_pe(SHMEM_TEAM_INVALID), SHMEM_TEAM_WORLD), -1);
    }
    destroy_teams(teams);
}

TEST(TEAM_5, "get_config reports what the team was made with and does nothing for mask 0")
{
    int n = npes;
    shmem_team_config_t wanted = {.num_contexts = 3}, got = {.num_contexts = -7};
    shmem_team_t with = SHMEM_TEAM_INVALID, without = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &wanted, SHMEM_TEAM_NUM_CONTEXTS, &with), 0);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &wanted, 0, &without), 0);
    CHECK_EQ(shmem_team_get_config(with, 0, NULL), 0);
    CHECK_EQ(shmem_team_get_config(with, 0, &got), 0);
    CHECK_EQ(got.num_contexts, -7);
    CHECK_EQ(shmem_team_get_config(with, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, 3);
    CHECK_EQ(shmem_team_get_config(without, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, 0);
    CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_SHARED, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL), 0);
    shmem_team_destroy(with);
    shmem_team_destroy(without);
}

TEST(PTR_4, "team_ptr takes team numbers and agrees with ptr")
{
    static long in_data = 1;
    long *on_heap = shmem_malloc(sizeof *on_heap);
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams) {
        for (int i = 0; i < team->members.size; i++) {
            CHECK(shmem_team_ptr(team->handle, on_heap, i) == shmem_ptr(on_heap, team->members.world[i]));
            CHECK(shmem_team_ptr(team->handle, &in_data, i) == shmem_ptr(&in_data, team->members.world[i]));
        }
        CHECK(shmem_team_ptr(team->handle, on_heap, shmem_team_my_pe(team->handle)) == on_heap);
    }
    destroy_teams(teams);
    shmem_barrier_all();
    shmem_free(on_heap);
}
