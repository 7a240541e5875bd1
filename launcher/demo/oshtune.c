/* What `oxshmem tune` compares: the collectives between the nodes that this is started on, one PE on each, with whatever
 * schedules SHMEM_*_ALGORITHM names. PE 0 prints "collective bytes nanoseconds" lines; the time is that of the quickest
 * quarter of many batches, because nothing makes a collective quicker than it is. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 24, LONGEST = 4 << 20, BATCH_NS = 500000, MOST_TIMES = 1024, TRIALS = 5 };

static long *source, *dest, *agreed;
static int me, npes;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void barrier(size_t n) { (void)n, shmem_barrier_all(); }
static void maximum(size_t n) { shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, n); }
static void sum(size_t n) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n); }
static void broadcast(size_t n) { shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, 0); }
static void fcollect(size_t n) { shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n); }
static void alltoall(size_t n) { shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n); }

static double batch(void (*call)(size_t), size_t n, long times)
{
    shmem_barrier_all();
    double start = now();
    for (long i = 0; i < times; i++) call(n);
    /* A root that runs ahead of the others has not finished for them. */
    shmem_barrier_all();
    return (now() - start) / (double)times;
}

static void measure(const char *name, void (*call)(size_t), size_t bytes)
{
    size_t n = bytes / sizeof(long);
    double once = batch(call, n, 2), batches[BATCHES];
    /* The first calls of a kind make what the later ones find. */
    for (int i = 0; i < TRIALS; i++) {
        double again = batch(call, n, 8);
        if (again < once) once = again;
    }
    /* All make equally many calls: as many as PE 0 says. */
    if (me == 0) {
        long times = (long)(BATCH_NS / once);
        *agreed = times < 1 ? 1 : times > MOST_TIMES ? MOST_TIMES : times;
        for (int pe = 1; pe < npes; pe++) shmem_long_p(agreed, *agreed, pe);
    }
    shmem_barrier_all();
    long times = *agreed;
    for (int i = 0; i < BATCHES; i++) batches[i] = batch(call, n, times);
    qsort(batches, BATCHES, sizeof *batches, by_size);
    if (me == 0) printf("%s %zu %.0f\n", name, bytes, batches[BATCHES / 4]);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (npes < 2 || shmem_team_n_pes(SHMEM_TEAM_SHARED) != 1) {
        if (me == 0) fprintf(stderr, "oshtune: it wants one PE on each of at least two nodes\n");
        shmem_global_exit(2);
    }
    source = shmem_malloc(LONGEST);
    dest = shmem_malloc(LONGEST);
    agreed = shmem_malloc(sizeof *agreed);
    if (!source || !dest || !agreed) {
        if (me == 0) fprintf(stderr, "oshtune: no symmetric memory for %d bytes\n", 2 * LONGEST);
        shmem_global_exit(2);
    }
    for (size_t i = 0; i < LONGEST / sizeof *source; i++) source[i] = (long)i * me;
    measure("sync", barrier, 0);
    for (size_t bytes = sizeof(long); bytes <= LONGEST; bytes *= 8) {
        measure("reduce-idempotent", maximum, bytes);
        measure("reduce-exact", sum, bytes);
        measure("broadcast", broadcast, bytes);
        /* Here the bytes are those of a block, and the arrays have one for each PE. */
        if (bytes * (size_t)npes > LONGEST) continue;
        measure("fcollect", fcollect, bytes);
        measure("alltoall", alltoall, bytes);
    }
    shmem_finalize();
    return 0;
}
