/* Every collective that moves blocks, by size, over active sets and over teams.
 *
 * A program may not use a pSync array again while some PE may still be in the call before, so two arrays alternate. */
#include "bench.h"

enum { SYNC = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE,
    MOST = 32 << 20,
    /* Of the source of alltoalls, in words. */
    STRIDE = 2 };

static long psync[2][SYNC];
static char *source, *dest;
/* Bytes of one block, and its words. */
static size_t size, words;

#define CALLS(name, statement) static void name(long n) { for (long i = 0; i < n; i++) { statement; } }
CALLS(broadcast_set, shmem_broadcast64(dest, source, words, 0, 0, 0, npes, psync[i & 1]))
CALLS(collect_set, shmem_collect64(dest, source, words, 0, 0, npes, psync[i & 1]))
CALLS(fcollect_set, shmem_fcollect64(dest, source, words, 0, 0, npes, psync[i & 1]))
CALLS(alltoall_set, shmem_alltoall64(dest, source, words, 0, 0, npes, psync[i & 1]))
CALLS(alltoalls_set, shmem_alltoalls64(dest, source, 1, STRIDE, words, 0, 0, npes, psync[i & 1]))
#if VERSION >= 105
CALLS(broadcast_team, shmem_long_broadcast(SHMEM_TEAM_WORLD, (long *)dest, (long *)source, words, 0))
CALLS(collect_team, shmem_long_collect(SHMEM_TEAM_WORLD, (long *)dest, (long *)source, words))
CALLS(fcollect_team, shmem_long_fcollect(SHMEM_TEAM_WORLD, (long *)dest, (long *)source, words))
CALLS(alltoall_team, shmem_long_alltoall(SHMEM_TEAM_WORLD, (long *)dest, (long *)source, words))
CALLS(alltoalls_team, shmem_long_alltoalls(SHMEM_TEAM_WORLD, (long *)dest, (long *)source, 1, STRIDE, words))
#define TEAM(name) name
#else
#define TEAM(name) NULL
#endif

/* Block `to` of the source is for PE `to`; collectives with one block send block 0. */
static void clear(unsigned seed)
{
    for (int to = 0; to < npes; to++) {
        fill(source + size * (size_t)to, size, seed, me, to);
        fill(dest + size * (size_t)to, size, ~seed, me, to);
    }
}

/* The same blocks, their words apart from each other. */
static void clear_strided(unsigned seed)
{
    clear(seed);
    uint64_t *all = (uint64_t *)source;
    for (size_t at = words * (size_t)npes; at-- > 0;)
        all[STRIDE * at] = all[at];
}

static int root_arrived(unsigned seed, long n) { return (void)n, me == 0 || is_filled(dest, size, seed, 0, 0); }

static int blocks_arrived(unsigned seed, int number)
{
    for (int from = 0; from < npes; from++)
        if (!is_filled(dest + size * (size_t)from, size, seed, from, number))
            return 0;
    return 1;
}

static int all_arrived(unsigned seed, long n) { return (void)n, blocks_arrived(seed, 0); }
static int mine_arrived(unsigned seed, long n) { return (void)n, blocks_arrived(seed, me); }

void collectives(void)
{
    static const struct {
        const char *name;
        void (*set)(long), (*team)(long), (*prepare)(unsigned);
        int (*arrived)(unsigned, long);
    } calls[] = {
        {"broadcast", broadcast_set, TEAM(broadcast_team), clear, root_arrived},
        {"collect", collect_set, TEAM(collect_team), clear, all_arrived},
        {"fcollect", fcollect_set, TEAM(fcollect_team), clear, all_arrived},
        {"alltoall", alltoall_set, TEAM(alltoall_team), clear, mine_arrived},
        {"alltoalls", alltoalls_set, TEAM(alltoalls_team), clear_strided, mine_arrived},
    };
    for (int i = 0; i < SYNC; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    const size_t all = (size_t)npes * largest(), most = all < MOST ? all : MOST;
    source = symmetric(STRIDE * most);
    dest = symmetric(most);
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++)
        for (int i = 0; i < size_count; i++) {
            size = sizes[i];
            words = size / 8;
            struct row row = {calls[at].name, "set", size, ALL, calls[at].set, 1, calls[at].prepare, calls[at].arrived, 1, 0};
            /* The blocks of all PEs have to fit. */
            if (size * (size_t)npes > most)
                continue;
            measure(&row);
            row.form = "team";
            row.batch = calls[at].team;
            if (row.batch)
                measure(&row);
        }
}
