/* Programs whose PEs wait for ever, with collectives that return at once; one for each name. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <string.h>

static long flag, lock, data[64], result[4096];
static uint64_t signal;
static int me, pes;
static shmem_req_h request, second;

static void never(void)
{
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
}

static void barrier(void)
{
    if (me == 0) never();
    shmemx_barrier_all_nb(&request);
    shmem_req_wait(&request);
}

static void root(void)
{
    if (me == 0) never();
    shmemx_long_broadcast_nb(SHMEM_TEAM_WORLD, result, data, 4, 0, &request);
    shmem_req_wait(&request);
}

static void reduction(void)
{
    if (me == pes - 1) shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5);
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, result, data, 64, &request);
    shmem_req_wait(&request);
}

/* The first of a hundred hangs, the program waits for the last. */
static void hundred(void)
{
    if (me == 1) never();
    for (int i = 0; i < 100; i++) shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    shmem_req_wait(&request);
}

/* A call that waits comes behind those that have returned. */
static void blocking_behind(void)
{
    if (me == 1) never();
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, result, data, 1);
}

static void opposite_teams(void)
{
    shmem_team_t one, two;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &one);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &two);
    shmemx_sync_nb(me % 2 ? one : two, &request);
    shmem_req_wait(&request);
    shmemx_sync_nb(me % 2 ? two : one, &request);
    shmem_req_wait(&request);
}

static void part_of_a_team(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, pes - 1, NULL, 0, &team);
    if (me == pes - 1 || me == 0) never();
    shmemx_sync_nb(team, &request);
    shmem_req_wait(&request);
}

/* All have begun the collective but one; one of those that have does not wait for it. */
static void begun_and_gone_on(void)
{
    if (me == 0) never();
    shmemx_barrier_all_nb(&request);
    if (me == 1) never();
    shmem_req_wait(&request);
}

static void finalize(void)
{
    if (me == 0) never();
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
}

static void waits_for_a_lock(void)
{
    if (me == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 1) shmem_set_lock(&lock);
    shmemx_barrier_all_nb(&request);
    shmem_req_wait(&request);
    if (me == 0) shmem_clear_lock(&lock);
}

static void two_teams(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
    if (me == 2) never();
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    shmemx_long_fcollect_nb(team, result, data, 2, &second);
    shmem_req_wait(&second);
    shmem_req_wait(&request);
}

static void long_alltoall(void)
{
    if (me == 0) never();
    shmemx_long_alltoall_nb(SHMEM_TEAM_WORLD, result, result + 2048, 512, &request);
    shmem_req_wait(&request);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"barrier", barrier},
        {"root", root},
        {"reduction", reduction},
        {"hundred", hundred},
        {"blocking_behind", blocking_behind},
        {"opposite_teams", opposite_teams},
        {"part_of_a_team", part_of_a_team},
        {"begun_and_gone_on", begun_and_gone_on},
        {"finalize", finalize},
        {"waits_for_a_lock", waits_for_a_lock},
        {"two_teams", two_teams},
        {"long_alltoall", long_alltoall},
    };
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    for (unsigned i = 0; i < sizeof all / sizeof *all && argc > 1; i++)
        if (!strcmp(argv[1], all[i].name)) all[i].run();
    shmem_finalize();
    return 3;
}
