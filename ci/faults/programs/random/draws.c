/* Draws from the seed, and the data that they stand for. */
#include "random.h"

static uint64_t drawn;

uint64_t mixed(uint64_t value)
{
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

uint64_t draw(void) { return mixed(mixed(seed) + drawn++); }

size_t below(size_t bound) { return bound ? draw() % bound : 0; }

int one_in(size_t times) { return below(times) == 0; }

size_t any_count(size_t element, size_t most)
{
    static const size_t limits[] = {8, 56, 64, 72, 128, 256, 512, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10,
        96 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20};
    enum { LIMITS = sizeof limits / sizeof *limits, LONG = LIMITS - 5 };
    const size_t form = below(10), beside = below(3), at = below(LIMITS), shift = below(21), rest = draw();
    size_t count = rest % 12;
    if (form >= 3 && form < 6)
        count = rest % (((size_t)1 << shift) / element + 1);
    else if (form >= 6) /* long ones are rarer: they take their time */
        count = limits[form < 9 ? at % LONG : at] / element + beside - 1;
    return count * element > most ? most / element - (most / element ? beside % 2 : 0) : count;
}

uint64_t key_of(int pe) { return mixed(mixed(seed ^ 0x5EED) + ((uint64_t)step << 16) + (uint64_t)pe); }

static uint64_t word(uint64_t key, size_t at) { return mixed(key + at); }

void stream(void *to, uint64_t key, size_t from, size_t bytes)
{
    char *next = to;
    const unsigned shift = from % 8 * 8;
    for (size_t at = from / 8; bytes; at++) {
        const uint64_t both = shift ? word(key, at) >> shift | word(key, at + 1) << (64 - shift) : word(key, at);
        const size_t part = bytes < 8 ? bytes : 8;
        memcpy(next, &both, part);
        next += part;
        bytes -= part;
    }
}

void dawdle(void)
{
    const size_t late = below(40), who = below((size_t)npes), how = below(600);
    if (late == 0 && (int)who == me)
        usleep((useconds_t)how);
}
