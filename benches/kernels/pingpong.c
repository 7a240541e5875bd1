/* A value, or a block and its flag, goes to the peer and comes back. */
#define _GNU_SOURCE
#include "bench.h"

#include <time.h>

enum { LARGEST = 256 << 10, GUSTS = 300, GUST_NS = 100000 };

/* Limit and library use the same line: which cache slice a line lives in makes a difference of a fifth. */
static struct line *line, *far_line;
static char *block, *far_block, local[LARGEST];
static size_t size;
static long round_trip;

/* PE 0 serves, the other returns. */
static void raw_pingpong(long n)
{
    for (long i = 0; i < n; i++) {
        round_trip++;
        if (me)
            spin_until(&line->word, round_trip);
        atomic_store_explicit(&far_line->word, round_trip, memory_order_release);
        if (!me)
            spin_until(&line->word, round_trip);
    }
}

static void p_wait_until(long n)
{
    long *mine = (long *)&line->word;
    for (long i = 0; i < n; i++) {
        round_trip++;
        if (me)
            shmem_long_wait_until(mine, SHMEM_CMP_GE, round_trip);
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
        memcpy(far_block, local, size);
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
        shmem_putmem(block, local, size, peer);
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
        shmem_putmem_signal(block, local, size, signal_word, round_trip, SHMEM_SIGNAL_SET, peer);
        if (!me)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, round_trip);
    }
}

static void allocate(void)
{
    line = symmetric(sizeof *line);
    far_line = theirs(line);
    block = symmetric(LARGEST);
    far_block = theirs(block);
}

void pingpong(void)
{
    allocate();
    row("p and wait_until ping-pong", raw_pingpong, p_wait_until);
    size = 8;
    row("put_signal 8 B ping-pong", copy_and_flag, put_signal);
    size = 1 << 10;
    row("put_signal 1 KiB ping-pong", copy_and_flag, put_signal);
    size = 64 << 10;
    row("put_signal 64 KiB ping-pong", copy_and_flag, put_signal);
}

static void compute(long nanoseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < nanoseconds);
}

/* The PEs alternate: each waits for the other one. */
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

/* A program with phases: waits of 100 us, longer than a waiting PE spins, then a block and its flag between the PEs. The
 * short waits must not pay for the long ones before them. */
void after_storm(void)
{
    allocate();
    size = LARGEST;
    storm();
    row("put 256 KiB and a flag after long waits", copy_and_flag, put_and_flag);
    storm();
    row("put_signal 256 KiB after long waits", copy_and_flag, put_signal);
    storm();
    row("put and a flag beside put_signal", put_signal, put_and_flag);
}
