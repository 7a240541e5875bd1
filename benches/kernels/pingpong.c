/* A value, or a block and its flag, goes to the peer and comes back. */
#include "bench.h"

enum { LARGEST = 64 << 10 };

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

void pingpong(void)
{
    line = symmetric(sizeof *line);
    far_line = theirs(line);
    block = symmetric(LARGEST);
    far_block = theirs(block);
    row("p and wait_until ping-pong", raw_pingpong, p_wait_until);
    size = 8;
    row("put_signal 8 B ping-pong", copy_and_flag, put_signal);
    size = 1 << 10;
    row("put_signal 1 KiB ping-pong", copy_and_flag, put_signal);
    size = 64 << 10;
    row("put_signal 64 KiB ping-pong", copy_and_flag, put_signal);
}
