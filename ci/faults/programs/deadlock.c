/* Programs whose PEs wait for each other for ever, one for each name. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t signals[4];
static long flag, other, lock, other_lock, data[64], result[64];
static int me, pes;

/* Nobody changes it. */
static void wait_for(long *variable, long value)
{
    shmem_long_wait_until(variable, SHMEM_CMP_EQ, value);
}

static void missing_in_barrier(void)
{
    if (me == 0)
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_GE, 3);
    shmem_barrier_all();
}

static void opposite_teams(void)
{
    shmem_team_t one, two;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &one);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &two);
    shmem_team_sync(me % 2 ? one : two);
    shmem_team_sync(me % 2 ? two : one);
}

static void signal_never_sent(void)
{
    if (me > 0)
        shmem_long_put_signal(data, result, 8, &signals[0], 1, SHMEM_SIGNAL_ADD, 0);
    /* One more than there are. */
    if (me == 0)
        shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, pes);
    shmem_barrier_all();
}

static void wrong_address(void)
{
    if (me == 0)
        for (int pe = 1; pe < pes; pe++)
            shmem_long_p(&other, 1, pe);
    wait_for(&flag, me == 0 ? 0 : 1);
    shmem_barrier_all();
}

static void lock_is_held(void)
{
    if (me == 0) {
        shmem_set_lock(&lock);
        shmem_barrier_all();
        shmem_set_lock(&other_lock);
    } else if (me == 1) {
        shmem_set_lock(&other_lock);
        shmem_barrier_all();
        shmem_set_lock(&lock);
    } else {
        shmem_barrier_all();
        shmem_set_lock(&lock);
    }
}

static void different_collectives(void)
{
    if (me == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, result, data, 8, 0);
    else
        shmem_barrier_all();
    shmem_barrier_all();
}

static void root_in_lock(void)
{
    if (me == 1)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, result, data, 8, 0);
    shmem_clear_lock(&lock);
}

static void own_value(void)
{
    if (me == 0) {
        other = -7;
        shmem_long_wait_until(&other, SHMEM_CMP_GT, -3);
    }
    wait_for(&flag, 1);
}

static void team_against_world(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
    if (me == pes - 1)
        shmem_team_sync(team);
    shmem_barrier_all();
    shmem_team_sync(team);
}

static void two_contexts(void)
{
    shmem_ctx_t one, two;
    shmem_ctx_create(0, &one);
    shmem_ctx_create(0, &two);
    shmem_ctx_long_put_nbi(one, data, result, 64, (me + 1) % pes);
    shmem_ctx_long_atomic_add(two, &flag, 1, (me + 1) % pes);
    shmem_ctx_quiet(two);
    wait_for(&flag, 2);
}

static void finalize(void)
{
    if (me > 0)
        wait_for(&flag, 1);
}

static void alone(void)
{
    static int flags[4];
    shmem_int_wait_until_any(flags, 4, NULL, SHMEM_CMP_NE, 0);
}

static void *second_thread(void *unused)
{
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 1);
    return unused;
}

static void threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, second_thread, NULL);
    if (me == 0)
        wait_for(&flag, 1);
    shmem_barrier_all();
    shmem_uint64_atomic_set(&signals[0], 1, me);
    pthread_join(thread, NULL);
}

static void *last_thread(void *unused)
{
    wait_for(&flag, 1);
    shmem_finalize();
    return unused;
}

static void first_thread_leaves(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_exit(NULL);
}

/* A team that no arithmetic describes. */
static void colours(void)
{
    shmem_team_t team;
    shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, me == 1 ? 9 : me, &team);
    if (me == 2)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 2)
        wait_for(&flag, 1);
    shmem_team_sync(team);
}

/* The members of an active set never meet. */
static void different_arrays(void)
{
    static int one, sum, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    static long arrays[2][SHMEM_REDUCE_SYNC_SIZE];
    shmem_int_sum_to_all(&sum, &one, 1, 0, 0, pes, work, arrays[me == 0]);
}

/* No deadlock: the last PE reads from the others all the time, which serve it while they wait. */
static void serve(void)
{
    if (me < pes - 1)
        wait_for(&flag, 1);
    for (;;) {
        for (int pe = 0; pe < pes - 1; pe++)
            shmem_long_get(result, data, 1, pe);
        usleep(20000);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        { "missing_in_barrier", missing_in_barrier }, { "opposite_teams", opposite_teams },
        { "signal_never_sent", signal_never_sent }, { "wrong_address", wrong_address },
        { "lock_is_held", lock_is_held }, { "different_collectives", different_collectives },
        { "root_in_lock", root_in_lock }, { "own_value", own_value },
        { "team_against_world", team_against_world }, { "two_contexts", two_contexts },
        { "finalize", finalize }, { "alone", alone }, { "threads", threads }, { "colours", colours },
        { "serve", serve }, { "different_arrays", different_arrays }, { "first_thread_leaves", first_thread_leaves },
    };
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
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
