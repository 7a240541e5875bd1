/* Runs one group of patterns: oshbench GROUP BATCH_US SINGLES_US SIZES ONLY
 * PE 0 prints a line of JSON for each row: nanoseconds of an operation, for each batch and for repetitions timed one by one. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 8, LEAST_BATCHES = 3, LONG = 4, SINGLES = 20000, CLOCK_READINGS = 20, TRIES = 3 };

int me, npes, partner, pairs, leads, follows, size_count, timed_pe;
size_t sizes[64];

static const char *only = "";
static double batch_ns, singles_ns, clock_ns;

/* Symmetric words. PE 0 writes them for all PEs, and all PEs write them for PE 0. */
static long agreed, wrong;
static double elapsed, *singles;

/* The job alone: the driver times it from outside. */
static void start(void) { }

static const struct { const char *name; void (*run)(void); } groups[] = {
    {"latency", latency}, {"bandwidth", bandwidth}, {"overlap", overlap}, {"atomics", atomics}, {"barriers", barriers},
    {"collectives", collectives}, {"reductions", reductions}, {"teams", teams}, {"limits", limits}, {"usage", usage},
    {"start", start}, {"distances", distances},
};

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What one reading of the clock costs: the least of several series. */
static double cost_of_clock(void)
{
    double least = 1e9;
    for (int series = 0; series < 20; series++) {
        const double begin = now();
        for (int i = 1; i < CLOCK_READINGS; i++)
            now();
        const double one = (now() - begin) / CLOCK_READINGS;
        least = one < least ? one : least;
    }
    return least;
}

void give_up(const char *why)
{
    fprintf(stderr, "oshbench: PE %d: %s\n", me, why);
    shmem_global_exit(3);
}

void *symmetric(size_t bytes)
{
    void *memory = shmem_align(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory)
        give_up("there is not enough symmetric memory; choose smaller --sizes or set SHMEM_SYMMETRIC_SIZE");
    memset(memory, 0, bytes);
    shmem_barrier_all();
    return memory;
}

size_t largest(void)
{
    size_t most = 8;
    for (int i = 0; i < size_count; i++)
        most = sizes[i] > most ? sizes[i] : most;
    return most;
}

static uint64_t word(unsigned seed, int pe, int block, size_t at)
{
    return (uint64_t)seed << 48 ^ (uint64_t)(pe + 1) << 32 ^ (uint64_t)block << 20 ^ (uint64_t)at;
}

void fill(void *at, size_t bytes, unsigned seed, int pe, int block)
{
    uint64_t *words = at;
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = word(seed, pe, block, i);
}

int is_filled(const void *at, size_t bytes, unsigned seed, int pe, int block)
{
    const uint64_t *words = at;
    for (size_t i = 0; i < bytes / 8; i++)
        if (words[i] != word(seed, pe, block, i))
            return 0;
    return 1;
}

int wanted(const char *pattern) { return strstr(pattern, only) != NULL; }

/* All PEs learn what PE 0 says. */
static long tell(long value)
{
    if (me == 0) {
        agreed = value;
        for (int pe = 1; pe < npes; pe++)
            shmem_long_p(&agreed, value, pe);
    }
    shmem_barrier_all();
    value = agreed;
    shmem_barrier_all();
    return value;
}

static int counts(enum clock clock, int pe)
{
    switch (clock) {
    case FIRST: return pe == 0;
    case LEADERS: return pe < pairs;
    case PAIRS: return pe < 2 * pairs;
    case ONE: return pe == timed_pe;
    default: return 1;
    }
}

static void check(const struct row *row, unsigned seed, long n)
{
    if (!row->arrived)
        return;
    shmem_barrier_all();
    if (!row->arrived(seed, n)) {
        fprintf(stderr, "oshbench: PE %d: %s (%s) of %zu bytes moved something wrong\n", me, row->pattern, row->form, row->bytes);
        shmem_long_p(&wrong, 1, 0);
    }
    shmem_barrier_all();
    if (tell(wrong))
        shmem_global_exit(3);
}

/* Nanoseconds of n repetitions, by the slowest clock that counts; on PE 0 only. */
static double timed(const struct row *row, long n)
{
    static unsigned seed;
    seed++;
    if (row->prepare)
        row->prepare(seed);
    shmem_barrier_all();
    const double begin = now();
    row->batch(n);
    elapsed = now() - begin;
    shmem_barrier_all();
    double slowest = 0;
    for (int pe = 0; me == 0 && pe < npes; pe++)
        if (counts(row->clock, pe)) {
            const double theirs = shmem_double_g(&elapsed, pe);
            slowest = theirs > slowest ? theirs : slowest;
        }
    check(row, seed, n);
    return slowest;
}

/* Finds how many repetitions make a batch, by longer and longer warm-up runs. The quickest of several tries decides,
 * because other processes may take the processor. */
static long calibrated(const struct row *row)
{
    for (long n = 1;;) {
        double once = timed(row, n);
        for (int again = 1; again < TRIES && !tell(once > LONG * batch_ns); again++) {
            const double other = timed(row, n);
            once = other < once ? other : once;
        }
        const double missing = batch_ns / (once + 1);
        const long next = missing < 1.5 || n > 1L << 30 ? 0 : missing > 8 ? 8 * n : (long)(missing * (double)n) + 1;
        const long said = tell(next);
        if (!said)
            return n;
        n = said;
    }
}

/* Repetitions timed one by one; on PE 0 the slowest of each, sorted. */
static void single(const struct row *row, long count)
{
    enum { PART = 1000 };
    static double theirs[PART];
    const unsigned seed = 77;
    if (!singles)
        singles = symmetric(SINGLES * sizeof *singles);
    if (row->prepare)
        row->prepare(seed);
    shmem_barrier_all();
    for (long i = 0; i < count; i++) {
        if (row->meets)
            shmem_barrier_all();
        const double begin = now();
        row->batch(1);
        singles[i] = now() - begin;
    }
    shmem_barrier_all();
    if (me == 0) {
        for (int pe = 1; pe < npes; pe++)
            for (long at = 0; counts(row->clock, pe) && at < count; at += PART) {
                const long part = count - at < PART ? count - at : PART;
                shmem_getmem(theirs, singles + at, (size_t)part * sizeof *theirs, pe);
                for (long i = 0; i < part; i++)
                    singles[at + i] = theirs[i] > singles[at + i] ? theirs[i] : singles[at + i];
            }
        qsort(singles, (size_t)count, sizeof *singles, ascending);
    }
    check(row, seed, count);
}

/* The sorted singles as pairs of a value and how often it occurs. */
static void print_singles(long count)
{
    for (long i = 0; i < count;) {
        long next = i;
        while (next < count && lround(singles[next]) == lround(singles[i]))
            next++;
        printf("%s[%ld,%ld]", i ? "," : "", lround(singles[i]), next - i);
        i = next;
    }
}

void measure(const struct row *row)
{
    if (!wanted(row->pattern))
        return;
    const long n = calibrated(row);
    double batches[BATCHES];
    batches[0] = timed(row, n) / (double)n;
    /* A short disturbance changes a long batch little, so fewer batches are enough. */
    const int number = tell(batches[0] > LONG * batch_ns) ? LEAST_BATCHES : BATCHES;
    for (int i = 1; i < number; i++)
        batches[i] = timed(row, n) / (double)n;
    qsort(batches, (size_t)number, sizeof *batches, ascending);
    /* An operation that takes no longer than some readings of the clock cannot be timed by itself. */
    const double once = batches[number / 2], share = row->bytes <= 64 ? singles_ns : singles_ns / 8;
    const double room = share / (once + (row->meets ? once : 0) + 2 * clock_ns);
    long count = row->batches_only || once < 4 * clock_ns ? 0 : room > SINGLES ? SINGLES : (long)room;
    count = tell(count);
    if (count > 0)
        single(row, count);
    if (me == 0) {
        printf("{\"pattern\":\"%s\",\"form\":\"%s\",\"bytes\":%zu,\"batch\":%ld,\"clock\":%.1f,\"operations\":%g,\"samples\":[",
            row->pattern, row->form, row->bytes, n, clock_ns, row->operations);
        for (int i = 0; i < number; i++)
            printf("%s%.3f", i ? "," : "", batches[i] / row->operations);
        printf("],\"singles\":[");
        print_singles(count);
        printf("]}\n");
        fflush(stdout);
    }
}

static void read_sizes(const char *text)
{
    while (*text && size_count < (int)(sizeof sizes / sizeof *sizes)) {
        char *end;
        sizes[size_count++] = (size_t)strtoull(text, &end, 10);
        text = *end ? end + 1 : end;
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "oshbench: `oxshmem bench` starts this program: oshbench GROUP BATCH_US SINGLES_US SIZES ONLY\n");
        return 2;
    }
    batch_ns = 1e3 * atof(argv[2]);
    singles_ns = 1e3 * atof(argv[3]);
    read_sizes(argv[4]);
    only = argv[5];
    const double begin = now();
    shmem_init();
    const double took = now() - begin;
    me = shmem_my_pe();
    npes = shmem_n_pes();
    pairs = npes / 2;
    leads = me < pairs;
    follows = !leads && me < 2 * pairs;
    partner = leads ? me + pairs : follows ? me - pairs : me;
    clock_ns = cost_of_clock();
    if (me == 0) {
        char name[SHMEM_MAX_NAME_LEN] = "", carriers[128];
        int major, minor;
        describe_carriers(carriers, sizeof carriers);
        shmem_info_get_name(name);
        shmem_info_get_version(&major, &minor);
        printf("{\"library\":\"%s%s\",\"standard\":\"%d.%d\",\"pes\":%d,\"init\":%.0f}\n", name, carriers, major, minor, npes, took);
    }
    int found = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(argv[1], groups[i].name)) {
            groups[i].run();
            found = 1;
        }
    shmem_barrier_all();
    if (me == 0 && found) {
        printf("{\"complete\":true}\n");
        fflush(stdout);
    }
    shmem_finalize();
    return !found;
}
