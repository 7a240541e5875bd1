/* Meetings: barriers and synchronisations, and teams that come and go. */
#include "bench.h"

enum { SYNC = SHMEM_BARRIER_SYNC_SIZE };

static long psync[2][SYNC];
/* What the PE before this one has put before a meeting. */
static long *met;

#define CALLS(name, statement) static void name(long n) { for (long i = 0; i < n; i++) { statement; } }
CALLS(barrier_set, shmem_barrier(0, 0, npes, psync[i & 1]))
CALLS(barrier_all, shmem_barrier_all())
CALLS(sync_set, shmem_sync(0, 0, npes, psync[i & 1]))
CALLS(sync_all, shmem_sync_all())

/* One more meeting, with a put before it, shows whether a PE leaves the call too early. */
static void begin(unsigned seed) { (void)seed, *met = 0; }

static int meets_by(void (*meeting)(long))
{
    shmem_long_p(met, 1, (me + 1) % npes);
    shmem_quiet();
    meeting(1);
    return *met == 1;
}
static int barrier_set_holds(unsigned seed, long n) { return (void)seed, (void)n, meets_by(barrier_set); }
static int barrier_all_holds(unsigned seed, long n) { return (void)seed, (void)n, meets_by(barrier_all); }
static int sync_set_holds(unsigned seed, long n) { return (void)seed, (void)n, meets_by(sync_set); }
static int sync_all_holds(unsigned seed, long n) { return (void)seed, (void)n, meets_by(sync_all); }

void barriers(void)
{
    static const struct { const char *name, *form; void (*batch)(long); int (*holds)(unsigned, long); } calls[] = {
        {"barrier", "set", barrier_set, barrier_set_holds}, {"barrier", "all", barrier_all, barrier_all_holds},
        {"sync", "all", sync_all, sync_all_holds}, {"sync", "set", sync_set, sync_set_holds},
    };
    for (int i = 0; i < SYNC; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    met = symmetric(sizeof *met);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        measure(&(struct row){calls[i].name, calls[i].form, 0, ALL, calls[i].batch, 1, begin, calls[i].holds, 1, 0});
}

#if VERSION >= 105
static int failed;

static void split_strided(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        failed |= shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
        shmem_team_destroy(team);
    }
}

static void split_2d(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
        failed |= shmem_team_split_2d(SHMEM_TEAM_WORLD, npes, NULL, 0, &row, NULL, 0, &column);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

static void begin_teams(unsigned seed) { (void)seed, failed = 0; }

/* One more split tells whether teams have the members that they should. */
static int are_right(unsigned seed, long n)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    failed |= shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
    const int right = !failed && shmem_team_n_pes(team) == npes && shmem_team_my_pe(team) == me;
    shmem_team_destroy(team);
    return (void)seed, (void)n, right;
}

void teams(void)
{
    measure(&(struct row){"team", "split_strided and destroy", 0, ALL, split_strided, 1, begin_teams, are_right, 1, 0});
    measure(&(struct row){"team", "split_2d and destroy", 0, ALL, split_2d, 1, begin_teams, are_right, 1, 0});
}
#else
void teams(void) { }
#endif
