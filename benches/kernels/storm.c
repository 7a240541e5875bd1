/* A program with phases: waits of 100 us, longer than a waiting PE spins, then a block and its flag between the PEs. The
 * short waits must not pay for the long ones before them. */
#define _GNU_SOURCE
#include "bench.h"

#include <time.h>

enum { BLOCK = 256 << 10, GUSTS = 300, GUST_NS = 100000 };

static struct line *line, *far_line;
static char *block, *far_block, local[BLOCK];
static long round_trip;

static void compute(long nanoseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < nanoseconds);
}

/* The PEs wait for each other in turns. */
static void storm(void)
{
    long *mine = (long *)&line->word;
    for (long i = 0; i < GUSTS; i++) {
        round_trip++;
        if (me)
            shmem_long_wait_until(mine, SHMEM_CMP_GE, round_trip);
        compute(GUST_NS);
        shmem_long_p(mine, round_trip, peer);
        if (!me)
            shmem_long_wait_until(mine, SHMEM_CMP_GE, round_trip);
    }
}

static void copy_and_flag(long n)
{
    for (long i = 0; i < n; i++) {
        round_trip++;
        if (me)
            spin_until(&line->word, round_trip);
        memcpy(far_block, local, BLOCK);
        atomic_store_explicit(&far_line->word, round_trip, memory_order_release);
        if (!me)
            spin_until(&line->word, round_trip);
    }
}

static void put_and_flag(long n)
{
    long *mine = (long *)&line->word;
    for (long i = 0; i < n; i++) {
        round_trip++;
        if (me)
            shmem_long_wait_until(mine, SHMEM_CMP_GE, round_trip);
        shmem_putmem(block, local, BLOCK, peer);
        shmem_fence();
        shmem_long_p(mine, round_trip, peer);
        if (!me)
            shmem_long_wait_until(mine, SHMEM_CMP_GE, round_trip);
    }
}

static void put_signal(long n)
{
    uint64_t *signal_word = (uint64_t *)&line->word;
    for (long i = 0; i < n; i++) {
        round_trip++;
        if (me)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, round_trip);
        shmem_putmem_signal(block, local, BLOCK, signal_word, round_trip, SHMEM_SIGNAL_SET, peer);
        if (!me)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, round_trip);
    }
}

void after_storm(void)
{
    line = symmetric(sizeof *line);
    far_line = theirs(line);
    block = symmetric(BLOCK);
    far_block = theirs(block);
    storm();
    row("put 256 KiB and a flag after long waits", copy_and_flag, put_and_flag);
    storm();
    row("put_signal 256 KiB after long waits", copy_and_flag, put_signal);
    storm();
    row("put and a flag beside put_signal", put_signal, put_and_flag);
}
