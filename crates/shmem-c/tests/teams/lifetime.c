/* Teams come, work and go: destruction, recycling, many at once, and use right after the split. */
#include "membership.h"

#include <pthread.h>

/* CHECK_LONG=1 in the environment asks for the long runs. */
static int cycles(int usual, int in_a_long_run) { return getenv("CHECK_LONG") ? in_a_long_run : usual; }

enum { ASKING_THREADS = 4 };

static struct members asked_about;
static shmem_team_t asked_team;

static void *ask_repeatedly(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++) CHECK(queries_agree(asked_team, &asked_about));
    return NULL;
}

TEST(TEAM_6, "several threads may put local questions to one team at once", .bare = 1)
{
    int provided;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    struct members all = everyone();
    asked_about = triplet_of(&all, npes - 1, -1, npes);
    asked_team = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
    int threads = provided == SHMEM_THREAD_MULTIPLE ? ASKING_THREADS : 0;
    if (threads == 0 && me == 0) printf("SKIP threads: SHMEM_THREAD_MULTIPLE is not provided, asked from one thread\n");
    pthread_t asking[ASKING_THREADS];
    for (int i = 0; i < threads; i++) CHECK_EQ(pthread_create(&asking[i], NULL, ask_repeatedly, NULL), 0);
    ask_repeatedly(NULL);
    for (int i = 0; i < threads; i++) CHECK_EQ(pthread_join(asking[i], NULL), 0);
    shmem_team_destroy(asked_team);
    shmem_finalize();
}

TEST(TEAM_7, "children outlive their parent, and destroy leaves the caller's variable alone")
{
    struct members all = everyone(), backward = triplet_of(&all, npes - 1, -1, npes);
    shmem_team_t parent = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes), before = parent;
    shmem_team_t child = split(parent, 0, 1, npes), row, column;
    CHECK_EQ(shmem_team_split_2d(parent, npes, NULL, 0, &row, NULL, 0, &column), 0);
    shmem_team_destroy(parent);
    CHECK(parent == before);
    CHECK(is_team(child, &backward));
    CHECK(is_team(row, &backward));
    struct members alone = triplet_of(&all, me, 1, 1);
    CHECK(is_team(column, &alone));
    shmem_team_t grandchild = split(child, npes - 1, -1, npes);
    shmem_team_destroy(child);
    CHECK(is_team(grandchild, &all));
    shmem_team_destroy(grandchild);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

TEST(TEAM_7_contexts, "destroying a team disposes of its shareable contexts")
{
    static long cell;
    for (int i = 0; i < 200; i++) {
        shmem_team_t team = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes);
        shmem_ctx_t context;
        CHECK_EQ(shmem_team_create_ctx(team, i % 2 ? SHMEM_CTX_SERIALIZED : 0, &context), 0);
        shmem_ctx_long_p(context, &cell, i, (shmem_team_my_pe(team) + 1) % npes);
        shmem_ctx_quiet(context);
        CHECK_EQ(shmem_team_sync(team), 0);
        CHECK_EQ(cell, i);
        CHECK_EQ(shmem_team_sync(team), 0);
        shmem_team_destroy(team);
    }
}

TEST(TEAM_7_contexts_busy, "what is under way on the contexts of a destroyed team is complete", .also = "CTX-5")
{
    enum { LENGTH = 1000 };
    static long source[LENGTH], cells[LENGTH];
    for (int i = 1; i <= 100; i++) {
        shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, 1, npes);
        shmem_ctx_t context;
        REQUIRE(shmem_team_create_ctx(team, 0, &context) == 0);
        for (int k = 0; k < LENGTH; k++) source[k] = i + k;
        shmem_ctx_long_put_nbi(context, cells, source, LENGTH, (me + 1) % npes);
        shmem_team_destroy(team);
        shmem_barrier_all();
        for (int k = 0; k < LENGTH; k++) CHECK_EQ(cells[k], i + k);
        shmem_barrier_all();
    }
}

TEST(TEAM_8, "teams are recycled: 20,000 splits and destroys, a million in a long run")
{
    struct members all = everyone();
    int rounds = cycles(20000, 1000000);
    for (int i = 0; i < rounds; i++) {
        int size = i % npes + 1, backward = i / npes % 2;
        struct members want = backward ? triplet_of(&all, size - 1, -1, size) : triplet_of(&all, npes - size, 1, size);
        shmem_team_t team = backward ? split(SHMEM_TEAM_WORLD, size - 1, -1, size) : split(SHMEM_TEAM_WORLD, npes - size, 1, size);
        CHECK_EQ(shmem_team_my_pe(team), my_place(&want));
        if (i % 500 == 0) CHECK(is_team(team, &want));
        shmem_team_destroy(team);
    }
}

TEST(TEAM_8_limit, "SHMEM_TEAMS_MAX: one more is refused everywhere, and there is room again after a destroy",
     .env = "SHMEM_TEAMS_MAX=4")
{
    shmem_team_t teams[4], row, column;
    for (int i = 0; i < 3; i++) teams[i] = split(SHMEM_TEAM_WORLD, 0, 1, npes);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, npes, NULL, 0, &row, NULL, 0, &column) != 0);
    CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    teams[3] = split(SHMEM_TEAM_WORLD, 0, 1, npes);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &row) != 0);
    CHECK(row == SHMEM_TEAM_INVALID);
    shmem_team_destroy(teams[0]);
    shmem_team_destroy(teams[1]);
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, npes, NULL, 0, &row, NULL, 0, &column), 0);
    CHECK_EQ(shmem_team_my_pe(row), me);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_team_destroy(teams[2]);
    shmem_team_destroy(teams[3]);
}

TEST(TEAM_8_limit_of_members, "SHMEM_TEAMS_MAX: a split is refused for a PE that would be a member, and for no other one",
     .env = "SHMEM_TEAMS_MAX=1", .min_pes = 2)
{
    shmem_team_t first = split(SHMEM_TEAM_WORLD, 0, 1, npes - 1), last, none;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, 1, 1, NULL, 0, &last), 0);
    CHECK_EQ(last != SHMEM_TEAM_INVALID, me == npes - 1);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &none) != 0);
    CHECK(none == SHMEM_TEAM_INVALID);
    shmem_team_destroy(first);
    shmem_team_destroy(last);
}

TEST(TEAM_8_2d, "so are rows and columns")
{
    struct members all = everyone();
    for (int i = 0; i < cycles(2000, 100000); i++) {
        shmem_team_t row, column;
        CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, npes, NULL, 0, &row, NULL, 0, &column), 0);
        if (i % 100 == 0) CHECK(is_team(row, &all));
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

TEST(TEAM_8_uneven, "recycling stays in step when every PE lives through another history of teams")
{
    struct members all = everyone();
    shmem_team_t kept = SHMEM_TEAM_INVALID;
    struct members kept_members = {0};
    for (int i = 0; i < 400; i++) {
        int start = (int)(mix(i, 1) % (uint64_t)npes), size = 1 + (int)(mix(i, 2) % (uint64_t)(npes - start));
        shmem_team_t team = split(SHMEM_TEAM_WORLD, start, 1, size);
        struct members members = triplet_of(&all, start, 1, size);
        if (i % 7 == 0) { /* this one is kept for a while, so that the next ones must use other resources */
            shmem_team_destroy(kept);
            kept = team;
            kept_members = members;
            continue;
        }
        CHECK(is_team(team, &members));
        CHECK(is_team(kept, &kept_members));
        shmem_team_destroy(team);
    }
    shmem_team_destroy(kept);
}

enum { MANY = 1000 };

TEST(TEAM_8_many, "a thousand teams live at once, all of them work, and go in another order than they came")
{
    static shmem_team_t teams[MANY];
    static int sizes[MANY];
    struct members all = everyone();
    for (int i = 0; i < MANY; i++) {
        sizes[i] = 1 + (int)(mix(i, 3) % (uint64_t)npes);
        teams[i] = split(SHMEM_TEAM_WORLD, sizes[i] - 1, -1, sizes[i]);
    }
    for (int i = 0; i < MANY; i++) {
        struct members want = triplet_of(&all, sizes[i] - 1, -1, sizes[i]);
        CHECK(is_team(teams[i], &want));
    }
    for (int i = 0; i < MANY; i++) shmem_team_destroy(teams[i * 7 % MANY]); /* 7 and 1000 share no divisor */
    shmem_team_t afterwards = split(SHMEM_TEAM_WORLD, 0, 1, npes);
    CHECK(is_team(afterwards, &all));
    shmem_team_destroy(afterwards);
}

TEST(TEAM_9, "parent and child work at once after the split, whoever is late")
{
    static long one[1], total[2][1];
    one[0] = 1;
    for (int i = 0; i < 4 * npes; i++) {
        come_late(i % npes == me);
        int size = 1 + i % npes;
        shmem_team_t child = split(SHMEM_TEAM_WORLD, 0, 1, size);
        total[0][0] = total[1][0] = -1;
        if (child != SHMEM_TEAM_INVALID) {
            CHECK_EQ(shmem_team_sync(child), 0);
            CHECK_EQ(shmem_long_sum_reduce(child, total[0], one, 1), 0);
            CHECK_EQ(total[0][0], size);
        }
        shmem_sync_all();
        CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, total[1], one, 1), 0);
        CHECK_EQ(total[1][0], npes);
        shmem_team_destroy(child);
    }
}

TEST(TEAM_9_back_to_back, "splits follow each other without a pause, and the teams do not mix")
{
    struct members all = everyone(), backward = triplet_of(&all, npes - 1, -1, npes);
    for (int i = 0; i < 50; i++) {
        stagger((uint64_t)i);
        shmem_team_t first = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes), second = split(SHMEM_TEAM_WORLD, 0, 1, npes);
        shmem_team_t third = split(first, 0, 1, npes), row, column;
        CHECK_EQ(shmem_team_split_2d(second, npes, NULL, 0, &row, NULL, 0, &column), 0);
        CHECK(is_team(third, &backward) && is_team(row, &all) && is_team(first, &backward) && is_team(second, &all));
        shmem_team_destroy(third);
        shmem_team_destroy(column);
        shmem_team_destroy(first);
        shmem_team_destroy(row);
        shmem_team_destroy(second);
    }
}

/* PE 1 sits in a collective with PE 0, which comes only after the last PE has told it that all its splits are done.
   So the splits of PEs 2 and up must not need PE 1. */
TEST(TEAM_9_disjoint, "a team splits while other PEs are stuck in a collective of another team", .min_pes = 3)
{
    static uint64_t all_split;
    static int source[1] = {1}, total[1];
    shmem_team_t pair = split(SHMEM_TEAM_WORLD, 0, 1, 2), rest = split(SHMEM_TEAM_WORLD, 2, 1, npes - 2);
    if (me >= 2) {
        struct members all = everyone(), others = triplet_of(&all, 2, 1, npes - 2);
        for (int i = 0; i < 200; i++) {
            shmem_team_t child = split(rest, 0, 1, others.size);
            if (i % 50 == 0) CHECK(is_team(child, &others));
            shmem_team_destroy(child);
        }
        CHECK_EQ(shmem_team_sync(rest), 0);
        if (me == npes - 1) shmem_signal_set(&all_split, 1, 0);
    } else {
        if (me == 0) shmem_signal_wait_until(&all_split, SHMEM_CMP_EQ, 1);
        CHECK_EQ(shmem_int_sum_reduce(pair, total, source, 1), 0);
        CHECK_EQ(total[0], 2);
    }
    shmem_team_destroy(rest);
    shmem_team_destroy(pair);
}

/* Every PE is late once for the split of one team while the collectives of the other, overlapping one go on. */
TEST(TEAM_9_overlapping, "splits and collectives of overlapping teams with late PEs", .min_pes = 2)
{
    static int source[1] = {1}, total[1];
    struct members all = everyone(), low = triplet_of(&all, 0, 1, npes - 1), high = triplet_of(&all, npes - 1, -1, npes - 1);
    shmem_team_t low_team = split(SHMEM_TEAM_WORLD, 0, 1, npes - 1), high_team = split(SHMEM_TEAM_WORLD, npes - 1, -1, npes - 1);
    for (int i = 0; i < 10 * npes; i++) {
        come_late(i % npes == me);
        if (high_team != SHMEM_TEAM_INVALID) {
            CHECK_EQ(shmem_team_sync(high_team), 0);
            CHECK_EQ(shmem_int_sum_reduce(high_team, total, source, 1), 0);
            CHECK_EQ(total[0], npes - 1);
        }
        if (low_team != SHMEM_TEAM_INVALID) {
            shmem_team_t child = split(low_team, low.size - 1, -1, low.size);
            struct members want = triplet_of(&low, low.size - 1, -1, low.size);
            CHECK(is_team(child, &want));
            shmem_team_destroy(child);
        }
    }
    CHECK(is_team(low_team, &low) && is_team(high_team, &high));
    shmem_team_destroy(low_team);
    shmem_team_destroy(high_team);
}
