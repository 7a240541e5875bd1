/* Many transfers under way: windows of puts or gets, by one pair in one direction, in both, and by all pairs at once. */
#include "bench.h"

/* Transfers of a window, and its bytes; the least number counts where transfers are large. */
enum { MOST_TRANSFERS = 64, LEAST_TRANSFERS = 4, MOST_BYTES = 16 << 20 };

static char *source, *dest;
static size_t size;
/* Transfers of this size's window, each with a block of its own. */
static int window;

static void clear(unsigned seed)
{
    for (int block = 0; block < window; block++) {
        fill(source + size * (size_t)block, size, seed, me, block);
        fill(dest + size * (size_t)block, size, ~seed, me, block);
    }
}

static void put_window(void)
{
    for (int i = 0; i < window; i++) {
        const size_t at = size * (size_t)i;
        shmem_putmem_nbi(dest + at, source + at, size, partner);
    }
    shmem_quiet();
}

static void get_window(void)
{
    for (int i = 0; i < window; i++) {
        const size_t at = size * (size_t)i;
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
    for (int block = 0; block < window; block++)
        if (!is_filled(dest + size * (size_t)block, size, seed, pe, block))
            return 0;
    return 1;
}

static int put_arrived(unsigned seed, long n) { return (void)n, me != pairs || came_from(0, seed); }
static int both_arrived(unsigned seed, long n) { return (void)n, (me != 0 && me != pairs) || came_from(partner, seed); }
static int all_arrived(unsigned seed, long n) { return (void)n, !follows || came_from(partner, seed); }
static int get_arrived(unsigned seed, long n) { return (void)n, me != 0 || came_from(partner, seed); }

static int window_of(size_t bytes)
{
    const size_t fitting = MOST_BYTES / bytes;
    return fitting > MOST_TRANSFERS ? MOST_TRANSFERS : fitting < LEAST_TRANSFERS ? LEAST_TRANSFERS : (int)fitting;
}

void bandwidth(void)
{
    size_t most = 0;
    if (pairs == 0)
        return;
    for (int i = 0; i < size_count; i++)
        most = sizes[i] * (size_t)window_of(sizes[i]) > most ? sizes[i] * (size_t)window_of(sizes[i]) : most;
    source = symmetric(most);
    dest = symmetric(most);
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        window = window_of(size);
        measure(&(struct row){"put bandwidth", "", size, FIRST, put_one_way, window, clear, put_arrived, 0, 1});
        measure(&(struct row){"get bandwidth", "", size, FIRST, get_one_way, window, clear, get_arrived, 0, 1});
        measure(&(struct row){"put bandwidth", "both ways", size, PAIRS, put_both_ways, window, clear, both_arrived, 0, 1});
        if (pairs > 1)
            measure(&(struct row){"put bandwidth", "all pairs", size, LEADERS, put_of_all, window, clear, all_arrived, 0, 1});
    }
}
