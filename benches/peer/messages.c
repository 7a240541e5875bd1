/* Times the messages of collectives between nodes and nothing else: between processes of this machine that poll, over what
 * carry.h stands for. This is the limit beside which collectives.c is read: it folds nothing, keeps no order between calls, and
 * its receivers know what comes.
 *
 * usage: messages PROCESSES [WORD]      only rows whose names contain WORD
 *
 * Process 0 prints the rows of collectives.c in its form, as `limit`. */
#define _GNU_SOURCE
#include "carry.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 5, MOST = 1 << 20, TOKEN = 8, WHOLE = 32 << 10 };

int me, count, shared;
char *source, *dest;
static const char *only = "";

void fail(const char *what)
{
    perror(what);
    exit(1);
}

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

/* One round, in which each process sends to the one `distance` after it. */
static void shift(int distance, size_t bytes)
{
    exchange((me + distance) % count, bytes, (me + count - distance) % count, bytes);
}

/* One round among partners where the processes are a power of two: a connection that carries data both ways needs no packets
 * that only acknowledge. */
static void pair(int distance, size_t bytes)
{
    if (count & (count - 1))
        shift(distance, bytes);
    else
        exchange(me ^ distance, bytes, me ^ distance, bytes);
}

static void barrier(size_t unused)
{
    (void)unused;
    for (int distance = 1; distance < count; distance *= 2)
        pair(distance, TOKEN);
}

/* Each process needs something of each operand: the whole in every round, or, for long operands, a share of each, and
 * then every share of the result. */
static void reduction(size_t bytes)
{
    if (bytes <= WHOLE) {
        for (int distance = 1; distance < count; distance *= 2)
            pair(distance, bytes);
        return;
    }
    for (int twice = 0; twice < 2; twice++)
        for (int distance = 1; distance < count; distance++)
            pair(distance, bytes / (size_t)count);
}

/* Down a binomial tree whose root is process 0. */
static void broadcast(size_t bytes)
{
    int distance = 1;
    while (distance < count && !(me & distance))
        distance *= 2;
    if (me)
        exchange(-1, 0, me - distance, bytes);
    for (distance /= 2; distance; distance /= 2)
        if (me + distance < count)
            exchange(me + distance, bytes, -1, 0);
}

/* What a process has gathered doubles in every round. */
static void fcollect(size_t bytes)
{
    int have = 1;
    for (; have * 2 <= count; have *= 2)
        pair(have, bytes * (size_t)have);
    if (have < count)
        shift(have, bytes * (size_t)(count - have));
}

static void alltoall(size_t bytes)
{
    for (int distance = 1; distance < count; distance++)
        pair(distance, bytes);
}

/* Calls of a batch: as many as in collectives.c. */
static int calls_of(size_t bytes)
{
    return bytes > 64 << 10 ? 40 : bytes > 4 << 10 ? 200 : 500;
}

static void row(const char *name, void (*messages)(size_t), size_t bytes)
{
    if (!strstr(name, only))
        return;
    double batches[BATCHES], sum = 0;
    const int calls = calls_of(bytes);
    for (int batch = -1; batch < BATCHES; batch++) {
        barrier(0);
        const double begin = now();
        for (int i = 0; i < calls; i++)
            messages(bytes);
        barrier(0);
        if (batch >= 0)
            sum += batches[batch] = (now() - begin) / calls;
    }
    qsort(batches, BATCHES, sizeof *batches, ascending);
    if (me == 0)
        printf("%s\tlimit\t%.3f\t%.3f\n", name, batches[BATCHES / 2], sum / BATCHES);
    fflush(stdout);
}

/* Gives this process a processor of its own, the me-th of those that it may use. */
static void bind_to_processor(const cpu_set_t *allowed)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    for (int cpu = 0, nth = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && nth++ == me)
            CPU_SET(cpu, &own);
    if (sched_setaffinity(0, sizeof own, &own))
        fail("sched_setaffinity");
}

static void measure(void)
{
    static const int elements[] = {1, 8, 1024, 131072};
    static const char *const types[] = {"int", "double"}, *const operations[] = {"max", "sum"};
    static const size_t sizes[] = {sizeof(int), sizeof(double)};
    static const size_t broadcasts[] = {8, 1 << 10, 32 << 10, 256 << 10, 1 << 20};
    static const size_t blocks[] = {8, 1 << 10, 32 << 10, 256 << 10};
    char name[64];

    row("barrier", barrier, 0);
    for (int i = 0; i < 16; i++) {
        const int n = elements[i / 4], type = i & 1;
        snprintf(name, sizeof name, "%s %s %d", types[type], operations[i >> 1 & 1], n);
        row(name, reduction, (size_t)n * sizes[type]);
    }
    for (size_t i = 0; i < sizeof broadcasts / sizeof *broadcasts; i++) {
        snprintf(name, sizeof name, "broadcast %zu", broadcasts[i]);
        row(name, broadcast, broadcasts[i]);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        snprintf(name, sizeof name, "fcollect %zu", blocks[i]);
        row(name, fcollect, blocks[i]);
        snprintf(name, sizeof name, "alltoall %zu", blocks[i]);
        row(name, alltoall, blocks[i]);
    }
}

int main(int argc, char **argv)
{
    int failed = 0;
    cpu_set_t allowed;

    count = argc > 1 ? atoi(argv[1]) : 0;
    if (count < 2 || count > PROCESSES) {
        fprintf(stderr, "usage: messages PROCESSES [WORD], with 2 to %d processes\n", PROCESSES);
        return 1;
    }
    if (argc > 2)
        only = argv[2];
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        fail("sched_getaffinity");
    shared = CPU_COUNT(&allowed) < count;
    before_fork();
    for (int process = 1; process < count && me == 0; process++) {
        const pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0)
            me = process;
    }
    if (!shared)
        bind_to_processor(&allowed);
    source = calloc(PROCESSES, MOST);
    dest = calloc(PROCESSES, MOST);
    if (!source || !dest)
        fail("calloc");
    after_fork();
    measure();
    for (int status; me == 0 && wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}
