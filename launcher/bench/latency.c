/* One transfer at a time between the PEs of the first pair: its full way, until the other side could see it. */
#include "bench.h"

static char *source, *dest;
static size_t size;
static long *flag, count;

static void clear(unsigned seed)
{
    fill(source, size, seed, me, 0);
    fill(dest, size, ~seed, me, 0);
}

static void put(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        shmem_putmem(dest, source, size, partner);
        shmem_quiet();
    }
}

static void get(long n)
{
    for (long i = 0; i < n && me == 0; i++)
        shmem_getmem(dest, source, size, partner);
}

/* A block and its flag go to the other one and come back. */
static void ping_pong(long n)
{
    for (long i = 0; i < n && (me == 0 || me == pairs); i++) {
        count++;
        if (follows)
            shmem_long_wait_until(flag, SHMEM_CMP_GE, count);
        shmem_putmem(dest, source, size, partner);
        shmem_fence();
        shmem_long_p(flag, count, partner);
        if (leads)
            shmem_long_wait_until(flag, SHMEM_CMP_GE, count);
    }
}

static int put_arrived(unsigned seed, long n) { return (void)n, me != pairs || is_filled(dest, size, seed, 0, 0); }
static int get_arrived(unsigned seed, long n) { return (void)n, me != 0 || is_filled(dest, size, seed, partner, 0); }
static int both_arrived(unsigned seed, long n)
{
    return (void)n, (me != 0 && me != pairs) || is_filled(dest, size, seed, partner, 0);
}

#if VERSION >= 105
static uint64_t *signal_word, signals;

static void put_signal(long n)
{
    for (long i = 0; i < n && (me == 0 || me == pairs); i++) {
        signals++;
        if (follows)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, signals);
        shmem_putmem_signal(dest, source, size, signal_word, signals, SHMEM_SIGNAL_SET, partner);
        if (leads)
            shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, signals);
    }
}
#endif

/* Every second long on one side, all of them on the other. */
enum { LONGEST_STRIDED = 64 << 10 };
static long *strided, *packed;

static void iput(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        shmem_long_iput(strided, packed, 2, 1, size / sizeof *packed, partner);
        shmem_quiet();
    }
}

static void iget(long n)
{
    for (long i = 0; i < n && me == 0; i++)
        shmem_long_iget(packed, strided, 1, 2, size / sizeof *packed, partner);
}

static void spread(unsigned seed)
{
    fill(packed, size, seed, me, 0);
    for (size_t i = 0; i < size / sizeof *packed; i++)
        strided[2 * i] = packed[i];
}

static void clear_strided(unsigned seed)
{
    spread(~seed);
    fill(packed, size, seed, me, 0);
}

static void clear_packed(unsigned seed)
{
    spread(seed);
    fill(packed, size, ~seed, me, 0);
}

static int iput_arrived(unsigned seed, long n)
{
    (void)n;
    if (me != pairs)
        return 1;
    for (size_t i = 0; i < size / sizeof *packed; i++)
        packed[i] = strided[2 * i];
    return is_filled(packed, size, seed, 0, 0);
}

static int iget_arrived(unsigned seed, long n) { return (void)n, me != 0 || is_filled(packed, size, seed, partner, 0); }

/* Single elements: p with its quiet, and g. */
static long *element, next, seen;

static void renew(unsigned seed)
{
    next = (long)seed << 32;
    *element = next + me;
    seen = -1;
}

static void p(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        shmem_long_p(element, ++next, partner);
        shmem_quiet();
    }
}

static void g(long n)
{
    for (long i = 0; i < n && me == 0; i++)
        seen = shmem_long_g(element, partner);
}

static int p_arrived(unsigned seed, long n) { return (void)seed, (void)n, me != 0 || shmem_long_g(element, partner) == next; }
static int g_arrived(unsigned seed, long n) { return (void)n, me != 0 || seen == ((long)seed << 32) + partner; }

void latency(void)
{
    if (pairs == 0)
        return;
    source = symmetric(largest());
    dest = symmetric(largest());
    flag = symmetric(sizeof *flag);
    element = symmetric(sizeof *element);
    packed = symmetric(LONGEST_STRIDED);
    strided = symmetric(2 * LONGEST_STRIDED);
    measure(&(struct row){"p", "", 8, FIRST, p, 1, renew, p_arrived, 0, 0});
    measure(&(struct row){"g", "", 8, FIRST, g, 1, renew, g_arrived, 0, 0});
#if VERSION >= 105
    signal_word = symmetric(sizeof *signal_word);
#endif
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        measure(&(struct row){"put", "", size, FIRST, put, 1, clear, put_arrived, 0, 0});
        measure(&(struct row){"get", "", size, FIRST, get, 1, clear, get_arrived, 0, 0});
        if (size % sizeof *packed == 0 && size <= LONGEST_STRIDED) {
            measure(&(struct row){"iput", "", size, FIRST, iput, 1, clear_strided, iput_arrived, 0, 0});
            measure(&(struct row){"iget", "", size, FIRST, iget, 1, clear_packed, iget_arrived, 0, 0});
        }
        measure(&(struct row){"put and flag", "", size, FIRST, ping_pong, 2, clear, both_arrived, 0, 0});
#if VERSION >= 105
        measure(&(struct row){"put with signal", "", size, FIRST, put_signal, 2, clear, both_arrived, 0, 0});
#endif
    }
}
