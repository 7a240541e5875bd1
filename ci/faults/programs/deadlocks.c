/* Programs whose PEs wait for ever, one for each name. There are three PEs. */
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 1 << 16 };

long other, flags[4];
static long flag, lock, source[MANY], dest[MANY];
static int here[3];
static uint64_t arrived, go, sent;
static int me, pes;

static void compute(void)
{
    for (volatile long steps = 0;; steps++)
        ;
}

static void meet(void)
{
    shmem_barrier_all();
}

/* PE 1 computes for ever and does not come to the barrier. */
static void missing_in_barrier(void)
{
    if (me == 1)
        compute();
    meet();
}

/* PE 1 computes for ever behind a long broadcast, and does not come to the barrier. */
static void missing_after_broadcast(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, MANY, 0);
    missing_in_barrier();
}

/* PE 2 is stopped while the others meet. */
static void stopped(void)
{
    shmem_barrier_all();
    if (me == 2)
        raise(SIGSTOP);
    shmem_sync_all();
}

/* Two teams of the same PEs meet in opposite orders. */
static void opposite_teams(void)
{
    shmem_team_t one, two;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &one);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &two);
    shmem_team_sync(me % 2 ? one : two);
    shmem_team_sync(me % 2 ? two : one);
}

/* PE 0 waits for one signal more than the others send. */
static void signal_never_sent(void)
{
    if (me > 0)
        shmem_uint64_atomic_add(&arrived, 1, 0);
    else
        shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, (uint64_t)pes);
    shmem_barrier_all();
}

/* PE 1 takes a lock and ends; PE 0 wants the lock. */
static void lock_of_dead(void)
{
    if (me == 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 1)
        _exit(0);
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
}

static void want(void)
{
    shmem_set_lock(&lock);
}

/* PE 1 holds a lock and waits in a barrier for PE 0, which wants the lock. */
static void lock_of_waiter(void)
{
    if (me == 1)
        want();
    shmem_barrier_all();
    if (me == 0)
        want();
    shmem_barrier_all();
}

/* PE 0 broadcasts and the others meet in a barrier. */
static void different_collectives(void)
{
    if (me == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, MANY, 0);
    else
        shmem_barrier_all();
}

/* The PEs make the same two collective calls in different orders. */
static void alltoall_or_broadcast(void)
{
    if (me == 0)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 8);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 8, 0);
    if (me > 0)
        shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 8);
}

/* PE 0 changes `other` on PE 1, and PE 1 waits for `flags[2]`. */
static void wrong_address(void)
{
    if (me == 0)
        shmem_long_p(&other, 1, 1);
    if (me == 1)
        shmem_long_wait_until(&flags[2], SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

/* PE 0 leaves while the others wait for its signal. */
static void left_early(void)
{
    if (me > 0)
        shmem_signal_wait_until(&go, SHMEM_CMP_NE, 0);
}

/* PE 2 does not take part in a split of the world, and the team that it belongs to meets. */
static void split_without_one(void)
{
    shmem_team_t team;
    if (me == 2)
        shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 3, NULL, 0, &team);
    shmem_team_sync(team);
}

/* Each PE but the last sets its flag on PE 0, which waits for all of them. */
static void all_but_one(void)
{
    if (me < pes - 1)
        shmem_int_atomic_set(&here[me], 1, 0);
    if (me == 0)
        shmem_int_wait_until_all(here, (size_t)pes, NULL, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

/* PE 0 sends data and signal to PE 2, and PE 1 waits for them. */
static void signal_to_wrong_pe(void)
{
    if (me == 0)
        shmem_long_put_signal(dest, source, 8, &sent, 1, SHMEM_SIGNAL_SET, 2);
    if (me == 1)
        shmem_signal_wait_until(&sent, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

/* A ring in the heap in which nobody begins: each PE waits for the one before it. */
static void heap_variable(void)
{
    long *turn = shmem_calloc(1, sizeof *turn);
    shmem_long_wait_until(turn, SHMEM_CMP_EQ, 1);
    shmem_long_p(turn, 1, (me + 1) % pes);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        { "missing_in_barrier", missing_in_barrier }, { "missing_after_broadcast", missing_after_broadcast },
        { "stopped", stopped }, { "opposite_teams", opposite_teams }, { "signal_never_sent", signal_never_sent },
        { "lock_of_dead", lock_of_dead }, { "lock_of_waiter", lock_of_waiter },
        { "different_collectives", different_collectives }, { "alltoall_or_broadcast", alltoall_or_broadcast },
        { "wrong_address", wrong_address }, { "left_early", left_early }, { "split_without_one", split_without_one },
        { "all_but_one", all_but_one }, { "signal_to_wrong_pe", signal_to_wrong_pe },
        { "heap_variable", heap_variable },
    };
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            shmem_finalize();
            return 0;
        }
    shmem_global_exit(99);
}
