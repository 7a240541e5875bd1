/* Many transfers under way: windows of puts or gets, by one pair in one direction, in both, and by all pairs at once. */
#include "bench.h"

enum { WINDOW = 64, MOST = 64 << 20 };

static char *source, *dest;
static size_t size;
/* Blocks of the window that lie side by side: fewer where blocks are large. */
static int blocks;

static void clear(unsigned seed)
{
    for (int block = 0; block < blocks; block++) {
        fill(source + size * (size_t)block, size, seed, me, block);
        fill(dest + size * (size_t)block, size, ~seed, me, block);
    }
}

static void put_window(void)
{
    for (int i = 0; i < WINDOW; i++) {
        const size_t at = size * (size_t)(i % blocks);
        shmem_putmem_nbi(dest + at, source + at, size, partner);
    }
    shmem_quiet();
}

static void get_window(void)
{
    for (int i = 0; i < WINDOW; i++) {
        const size_t at = size * (size_t)(i % blocks);
        shmem_getmem_nbi(dest + at, source + at, size, partner);
    }
    shmem_quiet();
}

#define REPEAT(name, condition, call) static void name(long n) { for (long i = 0; i < n && (condition); i++) call(); }
REPEAT(put_one_way, me == 0, put_window)
REPEAT(put_both_ways, me == 0 || me == pairs, put_window)
REPEAT(put_of_all, leads, put_window)
REPEAT(get_one_way, me == 0, get_window)

static int came_from(int pe, unsigned seed)
{
    for (int block = 0; block < blocks; block++)
        if (!is_filled(dest + size * (size_t)block, size, seed, pe, block))
            return 0;
    return 1;
}

static int put_arrived(unsigned seed, long n) { return (void)n, me != pairs || came_from(0, seed); }
static int both_arrived(unsigned seed, long n) { return (void)n, (me != 0 && me != pairs) || came_from(partner, seed); }
static int all_arrived(unsigned seed, long n) { return (void)n, !follows || came_from(partner, seed); }
static int get_arrived(unsigned seed, long n) { return (void)n, me != 0 || came_from(partner, seed); }

void bandwidth(void)
{
    const size_t most = largest() > MOST / WINDOW ? (largest() > MOST ? largest() : MOST) : largest() * WINDOW;
    if (pairs == 0)
        return;
    source = symmetric(most);
    dest = symmetric(most);
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        blocks = size * WINDOW <= most ? WINDOW : (int)(most / size);
        measure(&(struct row){"put bandwidth", "", size, FIRST, put_one_way, WINDOW, clear, put_arrived, 0, 1});
        measure(&(struct row){"get bandwidth", "", size, FIRST, get_one_way, WINDOW, clear, get_arrived, 0, 1});
        measure(&(struct row){"put bandwidth", "both ways", size, PAIRS, put_both_ways, WINDOW, clear, both_arrived, 0, 1});
        if (pairs > 1)
            measure(&(struct row){"put bandwidth", "all pairs", size, LEADERS, put_of_all, WINDOW, clear, all_arrived, 0, 1});
    }
}
