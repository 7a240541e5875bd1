/* Symmetric memory of every kind, byte patterns to send through it, and guard bytes to show what was not touched. */
#ifndef PLACES_H
#define PLACES_H

#include "check.h"

enum { ROOM = 4096, GUARD = 0xA5 };

struct place {
    const char *name;
    unsigned char *bytes;
};

static _Alignas(64) unsigned char bytes_in_bss[ROOM];
static _Alignas(64) unsigned char bytes_in_data[ROOM] = {GUARD};
static struct place places[] = {{"heap", NULL}, {"bss", bytes_in_bss}, {"data", bytes_in_data}};

/* Collective: the heap place comes from shmem_align. */
static inline void open_places(void)
{
    places[0].bytes = shmem_align(64, ROOM);
    REQUIRE(places[0].bytes);
}

#define FOR_EACH_PLACE(P) for (struct place *P = places; P < places + 3; P++)

/* The byte number i of the pattern `seed`; never GUARD, and different from its neighbours. */
static inline unsigned char pattern(unsigned seed, size_t i)
{
    uint64_t mixed = (seed * 0x9E3779B97F4A7C15u + i + 1) * 0xBF58476D1CE4E5B9u;
    unsigned char byte = (unsigned char)(mixed >> 56);
    return byte == GUARD ? 0x3C : byte;
}

static inline void fill(void *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)bytes)[i] = pattern(seed, i);
}

static inline int is_pattern(const void *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        if (((const unsigned char *)bytes)[i] != pattern(seed, i))
            return 0;
    return 1;
}

static inline int is_all(const void *bytes, size_t count, unsigned char byte)
{
    for (size_t i = 0; i < count; i++)
        if (((const unsigned char *)bytes)[i] != byte)
            return 0;
    return 1;
}

#endif
