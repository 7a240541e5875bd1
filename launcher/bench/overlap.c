/* Whether a put moves on while its PE computes: the put alone, a computation as long, and both. */
#include "bench.h"

static char *source, *dest;
static size_t size;
/* Steps of the computation that take as long as the put. PE 0's. */
static long steps;
static volatile double sum;

static void clear(unsigned seed)
{
    fill(source, size, seed, me, 0);
    fill(dest, size, ~seed, me, 0);
}

static void compute(long count)
{
    double x = sum;
    for (long i = 0; i < count; i++)
        x = x * 0.999999 + 1e-6;
    sum = x;
}

static void communication(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        shmem_putmem_nbi(dest, source, size, partner);
        shmem_quiet();
    }
}

static void computation(long n)
{
    for (long i = 0; i < n && me == 0; i++)
        compute(steps);
}

static void both(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        shmem_putmem_nbi(dest, source, size, partner);
        compute(steps);
        shmem_quiet();
    }
}

/* Sets `steps` so that a computation takes as long as a put; each is the least of several tries. */
static void match(void)
{
    enum { TRIES = 15, PROBE = 20000 };
    double put = 1e18, step = 1e18;
    for (int i = 0; i < TRIES && me == 0; i++) {
        double begin = now();
        communication(1);
        put = now() - begin < put ? now() - begin : put;
        begin = now();
        compute(PROBE);
        step = (now() - begin) / PROBE < step ? (now() - begin) / PROBE : step;
    }
    steps = (long)(put / step) + 1;
    shmem_barrier_all();
}

static int arrived(unsigned seed, long n) { return (void)n, me != pairs || is_filled(dest, size, seed, 0, 0); }

void overlap(void)
{
    if (pairs == 0)
        return;
    source = symmetric(largest());
    dest = symmetric(largest());
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        match();
        measure(&(struct row){"overlap", "communication", size, FIRST, communication, 1, clear, arrived, 0, 1});
        measure(&(struct row){"overlap", "computation", size, FIRST, computation, 1, 0, 0, 0, 1});
        measure(&(struct row){"overlap", "both", size, FIRST, both, 1, clear, arrived, 0, 1});
    }
}
