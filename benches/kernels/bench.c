/* Runs one group of rows: kernels GROUP PAIRS BATCH_NS PIN ONLY
 * Every PE prints its samples, a line of JSON for each side of each row. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <time.h>

int me, npes, peer;
long sink, epoch;
struct line *own_line, *peer_line;

enum { FIRST_CALLS = 400 };

static long pairs, batch_ns;
static const char *only;
/* How long a batch PE 0 asks for. Symmetric. */
static long wanted;

void scalars(void), atomics(void), copies(void), statics(void), pingpong(void), barriers(void), locks(void),
    after_storm(void), reductions(void), moves(void), splits(void), crowd(void), tcp(void), provider(void),
    overlap(void), profile(void), trace(void), recorder(void);

static const struct { const char *name; void (*run)(void); } groups[] = {
    {"scalars", scalars}, {"atomics", atomics}, {"copies", copies}, {"statics", statics}, {"pingpong", pingpong},
    {"storm", after_storm}, {"barriers", barriers}, {"locks", locks}, {"reductions", reductions}, {"moves", moves},
    {"splits", splits}, {"crowd", crowd}, {"tcp", tcp}, {"provider", provider},
    {"overlap", overlap},
    {"profile", profile}, {"trace", trace}, {"recorder", recorder},
};

/* Binds PE i to the i-th processor it may use. After init, so that the library has counted the processors. */
static void pin(void)
{
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable))
        return;
    int skip = me % CPU_COUNT(&usable), cpu = 0;
    while (!CPU_ISSET(cpu, &usable) || skip-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "kernels: the driver starts this program as: kernels GROUP PAIRS BATCH_NS PIN ONLY\n");
        return 2;
    }
    pairs = atol(argv[2]);
    batch_ns = atol(argv[3]);
    only = argv[5];
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    peer = (me + 1) % npes;
    if (atoi(argv[4]))
        pin();
    own_line = symmetric(sizeof *own_line);
    peer_line = theirs(own_line);
    int found = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(argv[1], groups[i].name)) {
            groups[i].run();
            found = 1;
        }
    if (!found)
        fprintf(stderr, "kernels: there is no group %s\n", argv[1]);
    shmem_finalize();
    return !found;
}

void *symmetric(size_t bytes)
{
    void *memory = shmem_align(4096, bytes);
    if (!memory) {
        fprintf(stderr, "kernels: no symmetric memory for %zu bytes\n", bytes);
        shmem_global_exit(1);
    }
    memset(memory, 0, bytes);
    shmem_barrier_all();
    return memory;
}

void *theirs(void *mine) { return shmem_ptr(mine, peer); }

static double timed(batch *run, long n)
{
    struct timespec begin, end;
    shmem_barrier_all();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    run(n);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
}

/* How many operations make a batch long enough. PE 0 decides by the quickest of some tries, the others follow. */
static long calibrated(batch *run)
{
    for (long n = 1;;) {
        double quickest = timed(run, n);
        for (int again = 0; again < 6; again++) {
            double once = timed(run, n);
            if (once < quickest)
                quickest = once;
        }
        if (me == 0) {
            double missing = batch_ns / (quickest + 1);
            long next = missing < 1.1 ? n : missing < 8 ? (long)(n * missing) + 1 : n * 8;
            for (int pe = 0; pe < npes; pe++)
                shmem_long_p(&wanted, next, pe);
        }
        shmem_barrier_all();
        if (wanted == n)
            return n;
        n = wanted;
    }
}

static void print(const char *name, const char *side, const double *samples)
{
    size_t room = 32 * pairs + 256, used = 0;
    char *text = malloc(room);
    used += snprintf(text + used, room - used, "{\"row\":\"%s\",\"side\":\"%s\",\"pe\":%d,\"values\":[", name, side, me);
    for (long i = 0; i < pairs; i++)
        used += snprintf(text + used, room - used, "%s%.3f", i ? "," : "", samples[i]);
    snprintf(text + used, room - used, "]}\n");
    fputs(text, stdout);
    fflush(stdout);
    free(text);
}

/* A batch has n operations; zero: as many as make it long enough. */
static void measure(const char *name, batch *limit, batch *ours, long n, int printing)
{
    if (!strstr(name, only))
        return;
    long n_limit = n || !limit ? n : calibrated(limit), n_ours = n ? n : calibrated(ours);
    double *samples = malloc(2 * pairs * sizeof *samples);
    for (long i = 0; i < pairs; i++) {
        if (limit)
            samples[i] = timed(limit, n_limit) / n_limit;
        samples[pairs + i] = timed(ours, n_ours) / n_ours;
    }
    if (printing && limit)
        print(name, "limit", samples);
    if (printing)
        print(name, "ours", samples + pairs);
    free(samples);
}

void row(const char *name, batch *limit, batch *ours) { measure(name, limit, ours, 0, 1); }

void row_timed_by_0(const char *name, batch *limit, batch *ours) { measure(name, limit, ours, 0, me == 0); }

void row_of_first(const char *name, batch *limit, batch *ours) { measure(name, limit, ours, FIRST_CALLS / pairs + 1, 1); }

static batch *limit_of_0, *ours_of_0;
static void limit_on_0(long n) { if (me == 0) limit_of_0(n); }
static void ours_on_0(long n) { if (me == 0) ours_of_0(n); }

void row_on_0(const char *name, batch *limit, batch *ours)
{
    limit_of_0 = limit;
    ours_of_0 = ours;
    measure(name, limit ? limit_on_0 : NULL, ours_on_0, 0, me == 0);
}
