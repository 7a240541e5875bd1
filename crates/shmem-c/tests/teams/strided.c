/* shmem_team_split_strided: who is in, under which number, and what impossible requests answer. */
#include "membership.h"

/* Every triplet with a nonzero stride whose members all lie in the parent. Collective over the parent. */
static void check_every_triplet(shmem_team_t parent, const struct members *members)
{
    int n = members->size;
    for (int start = 0; start < n; start++)
        for (int stride = -n; stride <= n; stride++)
            for (int size = 1; stride != 0 && size <= n; size++) {
                int last = start + (size - 1) * stride;
                if (last < 0 || last >= n) break;
                shmem_team_t team = split(parent, start, stride, size);
                struct members want = triplet_of(members, start, stride, size);
                CHECK(is_team(team, &want));
                shmem_team_destroy(team);
            }
}

/* The request fails alike everywhere: no team, and one nonzero answer. Collective over the parent. */
static void check_refusal(shmem_team_t parent, int start, int stride, int size)
{
    static int answer[1], smallest[1], largest[1];
    shmem_team_t team = SHMEM_TEAM_WORLD;
    answer[0] = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);
    if (answer[0] == 0) fprintf(stderr, "start %d, stride %d, size %d was accepted\n", start, stride, size);
    CHECK(answer[0] != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    CHECK_EQ(shmem_team_sync(parent), 0);
    CHECK_EQ(shmem_int_min_reduce(parent, smallest, answer, 1), 0);
    CHECK_EQ(shmem_int_max_reduce(parent, largest, answer, 1), 0);
    CHECK_EQ(smallest[0], largest[0]);
}

TEST(STR_1, "all parent PEs get the same answer and the triplet's members the team")
{
    struct members all = everyone();
    static int answer[1], largest[1];
    shmem_team_t team = SHMEM_TEAM_WORLD;
    answer[0] = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
    shmem_barrier_all();
    CHECK_EQ(shmem_int_max_reduce(SHMEM_TEAM_WORLD, largest, answer, 1), 0);
    CHECK_EQ(largest[0], 0);
    struct members want = triplet_of(&all, 0, 1, 1);
    CHECK(is_team(team, &want));
    shmem_team_destroy(team);
}

TEST(STR_2, "every legal triplet of the world, forward and backward, against explicit lists")
{
    struct members all = everyone();
    check_every_triplet(SHMEM_TEAM_WORLD, &all);
}

TEST(STR_2_nested, "numbers of a nested split are the parent's, three levels deep")
{
    struct members level = everyone();
    shmem_team_t parent = SHMEM_TEAM_WORLD, made[3];
    for (int depth = 0; depth < 3; depth++) {
        int start = level.size > 1 ? 1 : 0, size = (level.size - start + 1) / 2;
        struct members next = triplet_of(&level, start, 2, size);
        made[depth] = SHMEM_TEAM_INVALID;
        if (parent != SHMEM_TEAM_INVALID) made[depth] = split(parent, start, 2, size);
        CHECK(is_team(made[depth], &next));
        parent = made[depth];
        level = next;
    }
    for (int depth = 2; depth >= 0; depth--) shmem_team_destroy(made[depth]);
}

TEST(STR_3, "a negative stride reverses, the first member is the highest")
{
    struct members all = everyone();
    int n = all.size;
    shmem_team_t reversed = split(SHMEM_TEAM_WORLD, n - 1, -1, n);
    CHECK_EQ(shmem_team_my_pe(reversed), n - 1 - me);
    struct members backward = triplet_of(&all, n - 1, -1, n);
    CHECK(is_team(reversed, &backward));
    shmem_team_t twice = split(reversed, n - 1, -1, n);
    CHECK(is_team(twice, &all));
    shmem_team_destroy(twice);
    shmem_team_destroy(reversed);
}

TEST(STR_3_example, "eight PEs: (6,-2,3) is 6, 4, 2 under the numbers 0, 1, 2", .min_pes = 8, .max_pes = 8)
{
    shmem_team_t team = split(SHMEM_TEAM_WORLD, 6, -2, 3);
    struct members want = {3, {6, 4, 2}};
    CHECK(is_team(team, &want));
    shmem_team_destroy(team);
}

TEST(STR_3_parents, "every legal triplet of reversed and strided parents", .max_pes = 8)
{
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(parent, teams) check_every_triplet(parent->handle, &parent->members);
    destroy_teams(teams);
}

TEST(STR_4, "size 1 is legal with any stride, 0 and absurd ones included")
{
    struct members all = everyone();
    int strides[] = {0, 1, -1, all.size, -all.size, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
        for (int start = 0; start < all.size; start++) {
            shmem_team_t team = split(SHMEM_TEAM_WORLD, start, strides[i], 1);
            struct members want = triplet_of(&all, start, 1, 1);
            CHECK(is_team(team, &want));
            shmem_team_destroy(team);
        }
}

TEST(STR_5, "outsiders get 0 and the invalid handle", .min_pes = 2)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, npes - 1, NULL, 0, &team), 0);
    CHECK_EQ(team == SHMEM_TEAM_INVALID, me == 0);
    shmem_team_destroy(team);
}

TEST(STR_6, "impossible triplets fail with one nonzero answer everywhere and never wrap around")
{
    int n = npes;
    int impossible[][3] = {
            {0, 1, 0},        {0, 1, -1},           {0, 1, n + 1},          {-1, 1, 1},          {n, 1, 1},
            {n, -1, n},       {0, -1, 2},           {n - 1, 1, 2},          {0, n, 2},           {0, INT_MAX, 2},
            {0, INT_MIN, 2},  {0, 1, INT_MAX},      {n - 1, INT_MAX, 3},    {0, 1 << 30, 5},     {INT_MAX, 1, 1},
            {INT_MIN, 1, 1},  {INT_MAX, INT_MAX, INT_MAX}, {0, 1, INT_MIN}, {n - 1, -1, n + 1},  {0, 0x10000, 0x10001},
    };
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
        check_refusal(SHMEM_TEAM_WORLD, impossible[i][0], impossible[i][1], impossible[i][2]);
    struct members all = everyone();
    CHECK(is_team(SHMEM_TEAM_WORLD, &all));
}

TEST(STR_6_wrap, "eight PEs: (3,3,3) would reach 9 and is refused", .min_pes = 8, .max_pes = 8)
{
    check_refusal(SHMEM_TEAM_WORLD, 3, 3, 3);
}

TEST(STR_6_child, "limits are those of the parent, not of the world", .min_pes = 2)
{
    shmem_team_t first_half = split(SHMEM_TEAM_WORLD, 0, 1, npes / 2);
    if (first_half != SHMEM_TEAM_INVALID) {
        check_refusal(first_half, 0, 1, npes / 2 + 1);
        check_refusal(first_half, npes / 2, 1, 1);
    }
    shmem_team_destroy(first_half);
}

TEST(STR_7, "an invalid parent needs no partner: one PE alone may ask")
{
    if (me == npes - 1) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, npes, NULL, 0, &team) != 0);
        CHECK(team == SHMEM_TEAM_INVALID);
    }
}

TEST(STR_8, "config may be NULL with mask 0, and fields with a clear bit are ignored")
{
    int n = npes;
    struct members all = everyone();
    shmem_team_config_t absurd = {.num_contexts = -99}, got = {.num_contexts = -1};
    shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, 1, n);
    CHECK(is_team(team, &all));
    shmem_team_destroy(team);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &absurd, 0, &team), 0);
    CHECK(is_team(team, &all));
    CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, 0);
    shmem_team_destroy(team);
}

TEST(STR_8_unknown_bits, "unknown mask bits are treated alike on all PEs")
{
    static int refused[1], count[1];
    shmem_team_config_t config = {.num_contexts = 0};
    shmem_team_t team = SHMEM_TEAM_WORLD;
    long unknown = ~(long)SHMEM_TEAM_NUM_CONTEXTS;
    refused[0] = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &config, unknown, &team) != 0;
    CHECK_EQ(team == SHMEM_TEAM_INVALID, refused[0]);
    shmem_barrier_all();
    CHECK_EQ(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, count, refused, 1), 0);
    CHECK(count[0] == 0 || count[0] == npes);
    shmem_team_destroy(team);
}

TEST(STR_9, "refused splits leave nothing behind: thousands of them and the next one works")
{
    struct members all = everyone();
    for (int i = 0; i < 5000; i++) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, all.size + 1, NULL, 0, &team) != 0);
        CHECK(team == SHMEM_TEAM_INVALID);
    }
    shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, 1, all.size);
    CHECK(is_team(team, &all));
    shmem_team_destroy(team);
}

TEST(STR_10, "children of the shared team, whose members need not be evenly spaced")
{
    struct members sharing = {.size = shmem_team_n_pes(SHMEM_TEAM_SHARED)};
    for (int i = 0; i < sharing.size; i++)
        sharing.world[i] = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
    int n = sharing.size;
    shmem_team_t reversed = split(SHMEM_TEAM_SHARED, n - 1, -1, n);
    struct members backward = triplet_of(&sharing, n - 1, -1, n);
    CHECK(is_team(reversed, &backward));
    shmem_team_t every_second = split(reversed, 0, 2, (n + 1) / 2);
    struct members want = triplet_of(&backward, 0, 2, (n + 1) / 2);
    CHECK(is_team(every_second, &want));
    shmem_team_destroy(every_second);
    shmem_team_destroy(reversed);
}
