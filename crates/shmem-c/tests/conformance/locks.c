/* Locks. */
#include "check.h"

enum { ROUNDS = 300 };
static long static_lock, locks[8];

/* Plain puts and gets under the lock: an update is lost unless the lock excludes and completes. */
static void check_excludes(long *lock)
{
    static long counter[2];
    counter[0] = counter[1] = 0;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(lock);
        long value = shmem_long_g(&counter[0], 0);
        CHECK_EQ(shmem_long_g(&counter[1], npes - 1), value);
        shmem_long_p(&counter[0], value + 1, 0);
        shmem_long_p(&counter[1], value + 1, npes - 1);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&counter[0], 0), ROUNDS * npes);
    CHECK_EQ(shmem_long_g(&counter[1], npes - 1), ROUNDS * npes);
    shmem_barrier_all();
}

TEST(LCK_1, "locks exclude, in static and heap memory, and elements of an array are locks of their own",
     .also = "SYM-1 LCK-4 LCK-7")
{
    check_excludes(&static_lock);
    check_excludes(&locks[5]);
    long *heap = shmem_calloc(4, sizeof *heap);
    REQUIRE(heap);
    check_excludes(&heap[2]);
    for (int i = 0; i < 4; i++)
        CHECK(i == 2 || heap[i] == 0);
}

TEST(LCK_1_several, "a PE may hold several locks at once")
{
    for (int i = 0; i < 8; i++)
        shmem_set_lock(&locks[i]);
    static long inside;
    CHECK_EQ(shmem_long_atomic_fetch_inc(&inside, 0), 0);
    shmem_long_atomic_add(&inside, -1, 0);
    shmem_quiet();
    for (int i = 7; i >= 0; i--)
        shmem_clear_lock(&locks[i]);
    shmem_barrier_all();
}

/* The order of arrival cannot be observed from outside the lock, so that strict order is not shown here: only that under
 * contention, with everybody waiting at the start, each PE gets all its turns. */
TEST(LCK_2, "under contention every PE gets its turns", .min_pes = 3)
{
    enum { TURNS = 50 };
    static long order[TURNS * 64], taken, announced;
    for (int turn = 0; turn < TURNS; turn++) {
        shmem_long_atomic_inc(&announced, 0);
        shmem_set_lock(&static_lock);
        long place = shmem_long_atomic_fetch_inc(&taken, 0);
        shmem_long_p(&order[place], me, 0);
        if (turn == 0)
            while (shmem_long_atomic_fetch(&announced, 0) < npes)
                dawdle(1);
        shmem_clear_lock(&static_lock);
    }
    shmem_barrier_all();
    if (me == 0) {
        int count[64] = {0};
        CHECK_EQ(taken, TURNS * npes);
        for (int i = 0; i < TURNS * npes; i++)
            count[order[i]]++;
        for (int pe = 0; pe < npes; pe++)
            CHECK_EQ(count[pe], TURNS);
    }
}

TEST(LCK_3, "test_lock gives 0 when it has acquired and 1 when the lock is busy")
{
    static int flag;
    if (me == 0)
        CHECK_EQ(shmem_test_lock(&static_lock), 0);
    shmem_barrier_all();
    if (me != 0)
        CHECK_EQ(shmem_test_lock(&static_lock), 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&static_lock);
    shmem_barrier_all();
    int won = shmem_test_lock(&static_lock) == 0;
    if (won)
        shmem_int_atomic_inc(&flag, 0);
    shmem_barrier_all();
    CHECK_EQ(shmem_int_g(&flag, 0), 1);
    if (won)
        shmem_clear_lock(&static_lock);
    shmem_barrier_all();
}

TEST(LCK_3_mixed, "test_lock and set_lock exclude each other")
{
    static long counter;
    for (int i = 0; i < ROUNDS; i++) {
        if ((i + me) % 2)
            shmem_set_lock(&static_lock);
        else
            while (shmem_test_lock(&static_lock))
                usleep(1);
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_clear_lock(&static_lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&counter, 0), ROUNDS * npes);
}

TEST(LCK_4, "clear_lock completes the critical section, nonblocking puts and stores of the holder included")
{
    enum { WORDS = 100 };
    static long data[WORDS];
    for (int i = 0; i < ROUNDS; i++) {
        long copy[WORDS];
        shmem_set_lock(&static_lock);
        shmem_long_get(copy, data, WORDS, 0);
        for (int k = 1; k < WORDS; k++)
            CHECK_EQ(copy[k], copy[0]);
        for (int k = 0; k < WORDS; k++)
            copy[k]++;
        if (me == 0)
            memcpy(data, copy, sizeof data);
        else
            shmem_long_put_nbi(data, copy, WORDS, 0);
        shmem_clear_lock(&static_lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&data[WORDS - 1], 0), ROUNDS * npes);
}

TEST(LCK_5_not_held, "clearing a lock that is free ends with a message", .aborts = 1, .says = "shmem_clear_lock", .max_pes = 1)
{
    shmem_clear_lock(&static_lock);
}

TEST(LCK_5_of_another, "clearing a lock that another PE holds ends with a message", .aborts = 1, .min_pes = 2,
     .says = "shmem_clear_lock|this PE does not hold the lock|PE 0 has asked for this one last")
{
    if (me == 0)
        shmem_set_lock(&static_lock);
    shmem_barrier_all();
    if (me == 1)
        shmem_clear_lock(&static_lock);
    shmem_barrier_all();
}

TEST(LCK_6, "after all have cleared the memory may be freed and used again, as a lock too")
{
    for (int i = 0; i < 50; i++) {
        long *block = shmem_calloc(3, sizeof *block);
        REQUIRE(block);
        shmem_set_lock(&block[1]);
        shmem_clear_lock(&block[1]);
        shmem_barrier_all();
        CHECK(block[0] == 0 && block[2] == 0);
        block[1] = 0;
        shmem_barrier_all();
        shmem_set_lock(&block[1]);
        shmem_clear_lock(&block[1]);
        shmem_barrier_all();
        block[1] = -1;
        shmem_free(block);
    }
}

TEST(LCK_7, "a blocked set_lock does not stop the progress of others", .min_pes = 2)
{
    static long counter;
    static int go;
    if (me == 0) {
        shmem_set_lock(&static_lock);
        for (int pe = 1; pe < npes; pe++)
            shmem_int_p(&go, 1, pe);
        while (shmem_long_atomic_fetch(&counter, npes - 1) < 1000)
            shmem_long_atomic_inc(&counter, npes - 1);
        shmem_clear_lock(&static_lock);
    } else {
        shmem_int_wait_until(&go, SHMEM_CMP_EQ, 1);
        shmem_set_lock(&static_lock);
        CHECK(shmem_long_g(&counter, npes - 1) >= 1000);
        shmem_clear_lock(&static_lock);
    }
}
