/* Calls that a profile or a timeline records, beside the library's own of the same kind, which no tool sees: what recording adds. */
#include "bench.h"
#include <pshmem.h>
#include <time.h>

static char *heap;
static char local[64];

BATCH(p_bare, pshmem_long_p((long *)heap, i, 1))
BATCH(p_recorded, shmem_long_p((long *)heap, i, 1))
BATCH_OF_VALUES(g_bare, pshmem_long_g((long *)heap, 1))
BATCH_OF_VALUES(g_recorded, shmem_long_g((long *)heap, 1))
BATCH(put_bare, pshmem_putmem(heap, local, 8, 1))
BATCH(put_recorded, shmem_putmem(heap, local, 8, 1))
BATCH_OF_VALUES(add_bare, pshmem_long_atomic_fetch_add((long *)heap, 1, 1))
BATCH_OF_VALUES(add_recorded, shmem_long_atomic_fetch_add((long *)heap, 1, 1))
BATCH(quiet_bare, pshmem_quiet())
BATCH(quiet_recorded, shmem_quiet())
BATCH(barrier_bare, pshmem_barrier_all())
BATCH(barrier_recorded, shmem_barrier_all())

/* What a timed call reads at least: the counter where it is the clock of records, before the call and behind it. */
#ifdef __x86_64__
static long reading(void) { return (long)__builtin_ia32_rdtsc(); }
#else
static long reading(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_nsec;
}
#endif
BATCH_OF_VALUES(clock_read_twice, reading() - reading())

#define ROWS(name, option)                                           \
    void name(void)                                                  \
    {                                                                \
        heap = symmetric(64);                                        \
        row_on_0("p under " option, p_bare, p_recorded);             \
        row_on_0("g under " option, g_bare, g_recorded);             \
        row_on_0("put 8 B under " option, put_bare, put_recorded);   \
        row_on_0("fetch_add under " option, add_bare, add_recorded); \
        row_on_0("quiet under " option, quiet_bare, quiet_recorded); \
        row("barrier under " option, barrier_bare, barrier_recorded); \
        row_on_0("clock read twice beside " option, NULL, clock_read_twice); \
    }

ROWS(profile, "--profile")
ROWS(trace, "--trace")
