/* Collectives that return at once, with work between their start and their end, beside the same call that waits and the same
 * work behind it. The work takes about as long as the collective, and asks eight times how far that is. */
#include "bench.h"
#include <shmemx.h>
#include <time.h>

enum { DOUBLES = 32 << 10, SLICES = 8 };

static double *from, *to;
static long work_of_a_slice;

static void compute(void)
{
    unsigned long x = (unsigned long)sink | 1;
    for (long i = 0; i < work_of_a_slice; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = (long)x;
}

static void compute_all(void)
{
    for (int i = 0; i < SLICES; i++)
        compute();
}

static void compute_and_test(shmem_req_h *request)
{
    for (int i = 0; i < SLICES; i++) {
        compute();
        shmem_req_test(request);
    }
    shmem_req_wait(request);
}

#define PAIR(name, waiting, starting)                                        \
    BATCH(name##_then_work, waiting; compute_all())                          \
    BATCH(name##_beside_work, shmem_req_h request; starting; compute_and_test(&request))

PAIR(max, shmem_double_max_reduce(SHMEM_TEAM_WORLD, to, from, DOUBLES),
     shmemx_double_max_reduce_nb(SHMEM_TEAM_WORLD, to, from, DOUBLES, &request))
PAIR(broadcast, shmem_double_broadcast(SHMEM_TEAM_WORLD, to, from, DOUBLES, 0),
     shmemx_double_broadcast_nb(SHMEM_TEAM_WORLD, to, from, DOUBLES, 0, &request))
PAIR(fcollect, shmem_double_fcollect(SHMEM_TEAM_WORLD, to, from, DOUBLES / 2),
     shmemx_double_fcollect_nb(SHMEM_TEAM_WORLD, to, from, DOUBLES / 2, &request))
PAIR(alltoall, shmem_double_alltoall(SHMEM_TEAM_WORLD, to, from, DOUBLES / 2),
     shmemx_double_alltoall_nb(SHMEM_TEAM_WORLD, to, from, DOUBLES / 2, &request))

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Makes the work as long as a maximum, on all PEs alike. */
static void measure_work(void)
{
    static double nanoseconds[2], most[2];
    enum { TIMES = 50 };
    double start = now();
    for (int i = 0; i < TIMES; i++)
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, to, from, DOUBLES);
    nanoseconds[0] = (now() - start) / TIMES;
    work_of_a_slice = 100000;
    start = now();
    compute();
    nanoseconds[1] = (now() - start) / (double)work_of_a_slice;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, most, nanoseconds, 2);
    work_of_a_slice = (long)(most[0] / most[1] / SLICES);
}

void overlap(void)
{
    from = symmetric(2 * DOUBLES * sizeof *from);
    to = symmetric(2 * DOUBLES * sizeof *to);
    measure_work();
    row("max of 256 KiB beside work", max_then_work, max_beside_work);
    row("broadcast of 256 KiB beside work", broadcast_then_work, broadcast_beside_work);
    row("fcollect of 128 KiB beside work", fcollect_then_work, fcollect_beside_work);
    row("alltoall of 128 KiB beside work", alltoall_then_work, alltoall_beside_work);
}
