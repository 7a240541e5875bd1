/* What SHMEM_CHECK=2 finds, and the hang report: the library's own promises, numbered OWN. */
#include "check.h"

#include <signal.h>

#define CHECKED .env = "SHMEM_CHECK=2"

static long source[64], target[64];

TEST(OWN_1, "at level 2 everything still works", CHECKED)
{
    long *block = shmem_malloc(64 * sizeof *block);
    for (int i = 0; i < 64; i++)
        source[i] = me * 100 + i;
    shmem_long_put(block, source, 64, right_pe());
    shmem_barrier_all();
    CHECK_EQ(block[63], left_pe() * 100 + 63);
    CHECK_EQ(shmem_long_atomic_fetch_add(&target[0], 1, me), 0);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, target, source, 40);
    CHECK_EQ(target[39], (npes - 1) * 100 + 39);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 3, npes - 1);
    CHECK_EQ(target[2], (npes - 1) * 100 + 2);
    shmem_free(block);
}

TEST(OWN_2, "at level 2 a put beyond its block ends with a message", CHECKED, .aborts = 1,
     .says = "shmem_long_put|the block has 64 bytes")
{
    long *block = shmem_malloc(8 * sizeof *block);
    shmem_malloc(1000);
    shmem_long_put(block + 1, source, 8, right_pe());
}

TEST(OWN_2_freed, "at level 2 a put to a freed block ends with a message", CHECKED, .aborts = 1, .says = "shmem_long_p|no block")
{
    long *block = shmem_malloc(8 * sizeof *block);
    shmem_free(block);
    shmem_long_p(block, 1, right_pe());
}

TEST(OWN_3, "at level 2 two different collectives are named", CHECKED, .aborts = 1, .min_pes = 2,
     .says = "shmem_fcollect|shmem_broadcast")
{
    if (me == 0)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, target, source, 1);
    else
        shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 1, 0);
}

TEST(OWN_3_size, "at level 2 collectives of different sizes are named", CHECKED, .aborts = 1, .min_pes = 2,
     .says = "shmem_long_max_reduce|16 bytes|8 bytes")
{
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, target, source, me == 0 ? 2 : 1);
}

TEST(OWN_3_type, "at level 2 reductions of different types are named", CHECKED, .aborts = 1, .min_pes = 2,
     .says = "shmem_max_reduce (8 bytes of int64)|shmem_max_reduce (8 bytes of double)")
{
    static double real_target[1], real_source[1];
    if (me == 0)
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, real_target, real_source, 1);
    else
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, target, source, 1);
}

TEST(OWN_3_root, "at level 2 broadcasts from different roots are named", CHECKED, .aborts = 1, .min_pes = 2,
     .says = "shmem_broadcast|root 1|root 0")
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 1, me == 0 ? 1 : 0);
}

TEST(OWN_4, "a PE that waits too long says who waits for what", .one_node = 1, .env = "SHMEM_HANG_SECS=1", .exit = 3, .min_pes = 2,
     .says = "PE 1 has waited for 1 s|PE 0: not waiting in the library|PE 1: in shmem_barrier_all")
{
    if (me > 0)
        shmem_barrier_all();
    sleep(2);
    shmem_global_exit(3);
}

TEST(OWN_4_stopped, "a PE that is stopped in its wait keeps no other from its report", .one_node = 1, .env = "SHMEM_HANG_SECS=5",
     .exit = 3, .min_pes = 3, .says = "PE 1 has waited for |PE 0: stopped, in shmem_barrier_all|PE 1: in shmem_barrier_all")
{
    static long first;
    if (me == 0)
        shmem_long_p(&first, getpid(), npes - 1);
    shmem_barrier_all();
    if (me == npes - 1) {
        /* Long before the report is due, on a busy machine too. */
        sleep(1);
        CHECK_EQ(kill((pid_t)first, SIGSTOP), 0);
        sleep(6);
        shmem_global_exit(3);
    }
    shmem_barrier_all();
}
