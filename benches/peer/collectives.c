/* Times collectives of any OpenSHMEM library: the forms over active sets, and those over teams where a library has them.
 *
 * usage: collectives [WORD]      only rows whose names contain WORD
 *
 * PE 0 prints a line for each row and form: the name, `set` or `team`, and microseconds per call: the median of several
 * batches, and their mean, in which a batch that stood still counts. Two counts per call follow: context switches of all PEs, and TCP
 * segments, acknowledgements among them, that this network namespace has sent (other programs' too; zero where the kernel does not say). Calls follow each other without pause, and a batch ends
 * with a barrier: a root that runs ahead of the others has not finished for them. A program may not use a pSync array
 * again while some member may still be in the call before, so two arrays alternate.
 *
 * Where roots take turns, call i has root i mod n, and a destination and a pSync array of its own among GROUP calls between
 * two barriers: no PE waits for a call before, except where the library makes it wait. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Whether to time the forms over teams; a library may declare them and have none. */
#ifndef TEAMS
#define TEAMS (SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5)
#endif

enum { BATCHES = 5, MOST = 1 << 20, GROUP = 50, LARGEST_TURN = 48 << 10, SYNC = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE
    + SHMEM_BCAST_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE };

static long psync[2][SYNC], turn_psync[GROUP][SHMEM_BCAST_SYNC_SIZE];
static char *source, *dest, *turn_dest, *work[2];
static const char *only = "";
static int npes, me;
static long *switched;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What all batches of a row have cost beside time. */
struct counts {
    long switches, segments;
};

/* The kernel's count of sent TCP segments: the eleventh number of the second line that begins with `Tcp:`. */
static long segments_sent(void)
{
    char line[512];
    long sent = 0;
    FILE *const file = fopen("/proc/net/snmp", "r");
    for (int found = 0; file && found < 2 && fgets(line, sizeof line, file);)
        if (!strncmp(line, "Tcp:", 4) && ++found == 2)
            (void)sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %ld", &sent);
    if (file)
        fclose(file);
    return sent;
}

static struct counts counts(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct counts){used.ru_nvcsw + used.ru_nivcsw, segments_sent()};
}

/* Prints a row. Every PE calls this after the barrier of the last batch, and PE 0 reads what the others have put before it begins
 * the next row, which has a barrier. */
static void print_row(const char *name, const char *form, double *batches, int calls, struct counts before)
{
    const struct counts after = counts();
    double sum = 0, switches = 0;
    shmem_long_p(&switched[me], after.switches - before.switches, 0);
    shmem_barrier_all();
    if (me != 0)
        return;
    for (int batch = 0; batch < BATCHES; batch++)
        sum += batches[batch];
    for (int pe = 0; pe < npes; pe++)
        switches += (double)switched[pe];
    qsort(batches, BATCHES, sizeof *batches, ascending);
    printf("%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\n", name, form, batches[BATCHES / 2], sum / BATCHES,
        switches / (BATCHES * calls), (double)(after.segments - before.segments) / (BATCHES * calls));
    fflush(stdout);
}

/* Calls of a batch: fewer of those that take longer. */
static int calls_of(size_t bytes)
{
    return bytes > 64 << 10 ? 40 : bytes > 4 << 10 ? 200 : 500;
}

#define TIME(name, form, bytes, statement)                                          \
    do {                                                                            \
        if (!strstr(name, only))                                                    \
            break;                                                                  \
        double batches[BATCHES];                                                    \
        struct counts before = {0, 0};                                              \
        const int calls = calls_of(bytes);                                          \
        for (int batch = -1; batch < BATCHES; batch++) {                            \
            if (batch == 0)                                                         \
                before = counts();                                                  \
            shmem_barrier_all();                                                    \
            const double begin = now();                                             \
            for (int i = 0; i < calls; i++) {                                       \
                statement;                                                          \
            }                                                                       \
            shmem_barrier_all();                                                    \
            if (batch >= 0)                                                         \
                batches[batch] = (now() - begin) / calls;                           \
        }                                                                           \
        print_row(name, form, batches, calls, before);                              \
    } while (0)

#if TEAMS
#define TIME_TEAM(name, bytes, statement) TIME(name, "team", bytes, statement)
#else
#define TIME_TEAM(name, bytes, statement) do { } while (0)
#endif

#define IN_GROUPS(i, statement)         \
    do {                                \
        if ((i) % GROUP == 0)           \
            shmem_barrier_all();        \
        statement;                      \
    } while (0)

#define REDUCTION(type, op, n)                                                                                        \
    do {                                                                                                              \
        const int count = n;                                                                                          \
        const size_t bytes = (size_t)count * sizeof(type);                                                            \
        snprintf(name, sizeof name, "%s %s %d", #type, #op, count);                                                   \
        for (int at = 0; at < count; at++)                                                                            \
            ((type *)source)[at] = (type)(at % 1000 + me);                                                            \
        TIME(name, "set", bytes, shmem_##type##_##op##_to_all((type *)dest, (type *)source, count, 0, 0, npes,        \
            (type *)work[i & 1], psync[i & 1]));                                                                      \
        TIME_TEAM(name, bytes, shmem_##type##_##op##_reduce(SHMEM_TEAM_WORLD, (type *)dest, (type *)source, count));  \
    } while (0)

int main(int argc, char **argv)
{
    static const int elements[] = {1, 8, 1024, 131072};
    static const int broadcasts[] = {8, 1 << 10, 32 << 10, 256 << 10, 1 << 20};
    static const int turns[] = {64, 4 << 10, 8 << 10, 16 << 10, 24 << 10, LARGEST_TURN};
    static const int blocks[] = {8, 1 << 10, 32 << 10, 256 << 10};
    char name[64];

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (argc > 1)
        only = argv[1];
    for (int i = 0; i < SYNC; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < GROUP; i++)
        for (int j = 0; j < SHMEM_BCAST_SYNC_SIZE; j++)
            turn_psync[i][j] = SHMEM_SYNC_VALUE;
    turn_dest = shmem_malloc((size_t)GROUP * LARGEST_TURN);
    source = shmem_malloc((size_t)MOST * (size_t)npes);
    dest = shmem_malloc((size_t)MOST * (size_t)npes);
    work[0] = shmem_malloc(MOST + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double));
    work[1] = shmem_malloc(MOST + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double));
    switched = shmem_malloc((size_t)npes * sizeof *switched);
    if (!source || !dest || !turn_dest || !work[0] || !work[1] || !switched)
        shmem_global_exit(1);
    memset(source, me, (size_t)MOST * (size_t)npes);
    memset(dest, 0, (size_t)MOST * (size_t)npes);
    shmem_barrier_all();

    TIME("barrier", "set", 0, shmem_barrier(0, 0, npes, psync[i & 1]));
    TIME_TEAM("barrier", 0, shmem_barrier_all());
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        REDUCTION(int, max, elements[i]);
        REDUCTION(double, max, elements[i]);
        REDUCTION(int, sum, elements[i]);
        REDUCTION(double, sum, elements[i]);
    }
    for (size_t i = 0; i < sizeof broadcasts / sizeof *broadcasts; i++) {
        const size_t bytes = (size_t)broadcasts[i];
        snprintf(name, sizeof name, "broadcast %zu", bytes);
        TIME(name, "set", bytes, shmem_broadcast64(dest, source, bytes / 8, 0, 0, 0, npes, psync[i & 1]));
        TIME_TEAM(name, bytes, shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, 0));
    }
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        const size_t bytes = (size_t)turns[i];
        snprintf(name, sizeof name, "broadcast turns %zu", bytes);
        TIME(name, "set", bytes, IN_GROUPS(i, shmem_broadcast64(turn_dest + (size_t)(i % GROUP) * bytes, source, bytes / 8,
            i % npes, 0, 0, npes, turn_psync[i % GROUP])));
        TIME_TEAM(name, bytes, IN_GROUPS(i, shmem_broadcastmem(SHMEM_TEAM_WORLD, turn_dest + (size_t)(i % GROUP) * bytes,
            source, bytes, i % npes)));
    }
    snprintf(name, sizeof name, "broadcast barrier 8192");
    TIME(name, "set", 8192, shmem_broadcast64(dest, source, 1024, 0, 0, 0, npes, psync[i & 1]); shmem_barrier_all());
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const size_t bytes = (size_t)blocks[i];
        snprintf(name, sizeof name, "fcollect %zu", bytes);
        TIME(name, "set", bytes, shmem_fcollect64(dest, source, bytes / 8, 0, 0, npes, psync[i & 1]));
        TIME_TEAM(name, bytes, shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes));
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const size_t bytes = (size_t)blocks[i];
        snprintf(name, sizeof name, "alltoall %zu", bytes);
        TIME(name, "set", bytes, shmem_alltoall64(dest, source, bytes / 8, 0, 0, npes, psync[i & 1]));
        TIME_TEAM(name, bytes, shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes));
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
