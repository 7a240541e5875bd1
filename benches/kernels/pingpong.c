/* A value, or a block and its flag, goes to the peer and comes back. */
#include "bench.h"

enum { LARGEST = 64 << 10 };

static struct line *raw, *far_raw, *flag;
static uint64_t *signal_word;
static char *block, *far_block, local[LARGEST];
static size_t size;
static long raw_round, round_trip;

/* PE 0 serves, the other returns. */
static void raw_pingpong(long n)
{
    for (long i = 0; i < n; i++) {
        raw_round++;
        if (me)
            spin_until(&raw->word, raw_round);
        atomic_store_explicit(&far_raw->word, raw_round, memory_order_release);
        if (!me)
            spin_until(&raw->word, raw_round);
    }
}

static void p_wait_until(long n)
{
    long *mine = (long *)&flag->word;
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
        raw_round++;
        if (me)
            spin_until(&raw->word, raw_round);
        memcpy(far_block, local, size);
        atomic_store_explicit(&far_raw->word, raw_round, memory_order_release);
        if (!me)
            spin_until(&raw->word, raw_round);
    }
}

static void put_signal(long n)
{
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
    raw = symmetric(sizeof *raw);
    far_raw = theirs(raw);
    flag = symmetric(sizeof *flag);
    signal_word = symmetric(sizeof *signal_word);
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
