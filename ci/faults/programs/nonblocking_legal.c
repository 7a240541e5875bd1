/* Legal programs whose collectives return at once and take long: no deadlock may be reported. Arguments: way, collective. */
#define _GNU_SOURCE
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT 8192
/* Longer than a report takes. */
#define LONG 6.5

static long flag, source[COUNT], dest[COUNT];
static int me, pes;
static const char *collective;
static shmem_req_h all[100];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time)) {}
}

static void begin(shmem_team_t team, shmem_req_h *request)
{
    if (!strcmp(collective, "barrier"))
        shmemx_sync_nb(team, request);
    else if (!strcmp(collective, "broadcast"))
        shmemx_long_broadcast_nb(team, dest, source, COUNT, 0, request);
    else
        shmemx_long_sum_reduce_nb(team, dest, source, 64, request);
}

static void once(void)
{
    shmem_req_h request;
    begin(SHMEM_TEAM_WORLD, &request);
    shmem_req_wait(&request);
}

static void sleeps(void)
{
    if (me == 0) nap(LONG);
    once();
}

static void computes(void)
{
    shmem_req_h request;
    if (me > 0) begin(SHMEM_TEAM_WORLD, &request);
    for (double end = now() + LONG; me == 0 && now() < end;) {}
    if (me == 0) begin(SHMEM_TEAM_WORLD, &request);
    shmem_req_wait(&request);
}

static void tests(void)
{
    shmem_req_h request;
    if (me == pes - 1) nap(LONG);
    begin(SHMEM_TEAM_WORLD, &request);
    while (shmem_req_test(&request)) {}
}

static void waits_for_a_flag(void)
{
    shmem_req_h request;
    if (me > 0) begin(SHMEM_TEAM_WORLD, &request);
    if (me == 0) {
        nap(LONG);
        for (int pe = 1; pe < pes; pe++) shmem_long_p(&flag, 1, pe);
        begin(SHMEM_TEAM_WORLD, &request);
    } else
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_req_wait(&request);
}

static void *late(void *nothing)
{
    nap(LONG);
    once();
    shmem_long_p(&flag, 1, me);
    return nothing;
}

static void another_thread(void)
{
    pthread_t thread;
    if (me == 0) {
        pthread_create(&thread, NULL, late, NULL);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        pthread_join(thread, NULL);
    } else
        once();
}

static void hundred(void)
{
    for (int i = 0; i < 100; i++) {
        if (me == 1 && i == 50) nap(LONG);
        begin(SHMEM_TEAM_WORLD, &all[i]);
    }
    for (int i = 99; i >= 0; i--) shmem_req_wait(&all[i]);
}

static void two_teams(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
    begin(team, &all[0]);
    if (me == 0) nap(LONG);
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &all[1]);
    shmem_req_wait(&all[1]);
    shmem_req_wait(&all[0]);
}

static void handler(int number)
{
    (void)number;
    flag = 1;
}

static void signal_handler(void)
{
    if (me == 0) {
        signal(SIGALRM, handler);
        alarm((unsigned)LONG + 1);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    }
    once();
}

static void forked(void)
{
    long *word = shmem_calloc(1, sizeof *word);
    if (me == 0) {
        if (fork() == 0) {
            nap(LONG);
            *word = 1;
            _exit(0);
        }
        shmem_long_wait_until(word, SHMEM_CMP_EQ, 1);
        wait(NULL);
    }
    once();
}

/* The waits of collectives end and begin while the program is in one wait. */
static void trickles(void)
{
    for (int i = 0; i < 40; i++) {
        if (me == 0) nap(LONG / 40);
        begin(SHMEM_TEAM_WORLD, &all[i]);
    }
    shmem_req_wait(&all[39]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        {"sleeps", sleeps},
        {"computes", computes},
        {"tests", tests},
        {"waits_for_a_flag", waits_for_a_flag},
        {"another_thread", another_thread},
        {"hundred", hundred},
        {"two_teams", two_teams},
        {"signal_handler", signal_handler},
        {"forked", forked},
        {"trickles", trickles},
    };
    int provided, found = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (argc < 3) return 2;
    collective = argv[2];
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name)) {
            ways[i].run();
            found = 1;
        }
    shmem_barrier_all();
    shmem_finalize();
    return found ? 0 : 2;
}
