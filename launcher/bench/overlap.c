/* Whether a put, and a collective that returns at once, move on while their PE computes: the communication alone, a computation
 * as long, and both. */
#include "bench.h"

#include <string.h>

#if __has_include(<shmemx.h>)
#include <shmemx.h>
#endif

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

/* Sets `steps` so that a computation takes as long as a communication of all PEs, or of PE 0; each is the least of several
 * tries. */
static void match(void (*communicate)(long n), int of_all)
{
    enum { TRIES = 15, PROBE = 20000 };
    double communication = 1e18, step = 1e18;
    for (int i = 0; i < TRIES && (of_all || me == 0); i++) {
        double begin = now();
        communicate(1);
        communication = now() - begin < communication ? now() - begin : communication;
        begin = now();
        compute(PROBE);
        step = (now() - begin) / PROBE < step ? (now() - begin) / PROBE : step;
    }
    steps = (long)(communication / step) + 1;
    shmem_barrier_all();
}

#ifdef SHMEM_REQ_INVALID
/* Parts of a computation beside a collective; in between the program asks whether it is over, which moves it on. */
enum { PARTS = 16 };

static void lay_elements(unsigned seed)
{
    double *elements = (double *)source;
    for (size_t i = 0; i < size / sizeof(double); i++)
        elements[i] = (double)(seed % 1000) + (double)i + me;
    memset(dest, 0xff, size);
}

static int is_greatest(unsigned seed, long n)
{
    const double *elements = (const double *)dest;
    for (size_t i = 0; n > 0 && i < size / sizeof(double); i++) {
        if (elements[i] != (double)(seed % 1000) + (double)i + (npes - 1))
            return 0;
    }
    return 1;
}

static void reduction(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_req_h request;
        shmemx_double_max_reduce_nb(SHMEM_TEAM_WORLD, (double *)dest, (double *)source, size / sizeof(double), &request);
        shmem_req_wait(&request);
    }
}

static void everybody_computes(long n)
{
    for (long i = 0; i < n; i++)
        compute(steps);
}

static void reduction_beside(long n)
{
    for (long i = 0; i < n; i++) {
        shmem_req_h request;
        int is_over = 0;
        shmemx_double_max_reduce_nb(SHMEM_TEAM_WORLD, (double *)dest, (double *)source, size / sizeof(double), &request);
        for (int part = 0; part < PARTS; part++) {
            compute(steps / PARTS + 1);
            is_over = is_over || shmem_req_test(&request) == 0;
        }
        if (!is_over)
            shmem_req_wait(&request);
    }
}

static void collectives_beside(void)
{
    static const char pattern[] = "max_reduce_nb overlap";
    match(reduction, 1);
    measure(&(struct row){pattern, "communication", size, ALL, reduction, 1, lay_elements, is_greatest, 0, 1});
    measure(&(struct row){pattern, "computation", size, ALL, everybody_computes, 1, 0, 0, 0, 1});
    measure(&(struct row){pattern, "both", size, ALL, reduction_beside, 1, lay_elements, is_greatest, 0, 1});
}
#else
static void collectives_beside(void) {}
#endif

static int arrived(unsigned seed, long n) { return (void)n, me != pairs || is_filled(dest, size, seed, 0, 0); }

void overlap(void)
{
    source = symmetric(largest());
    dest = symmetric(largest());
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        if (size % sizeof(double) == 0)
            collectives_beside();
        if (pairs == 0)
            continue;
        match(communication, 0);
        measure(&(struct row){"overlap", "communication", size, FIRST, communication, 1, clear, arrived, 0, 1});
        measure(&(struct row){"overlap", "computation", size, FIRST, computation, 1, 0, 0, 0, 1});
        measure(&(struct row){"overlap", "both", size, FIRST, both, 1, clear, arrived, 0, 1});
    }
}
