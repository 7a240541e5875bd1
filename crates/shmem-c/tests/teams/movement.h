/* Every form of broadcast, collect, fcollect, alltoall and alltoalls behind one table, so that a test written once runs over
   all of them: 24 typed forms, the type-generic macros, the mem forms. The elements travel as bytes; no form may care. */
#ifndef TEAMS_MOVEMENT_H
#define TEAMS_MOVEMENT_H

#include "../types.h"
#include "membership.h"

struct movement {
    const char *name;
    size_t size; /* bytes of an element */
    int (*broadcast)(shmem_team_t, void *dest, const void *source, size_t count, int root);
    int (*collect)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*fcollect)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*alltoall)(shmem_team_t, void *dest, const void *source, size_t count);
    int (*alltoalls)(shmem_team_t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count);
};

#define MOVEMENT(FORM, NAME, T, SPELLED) \
    static int FORM##_##NAME##_broadcast(shmem_team_t team, void *d, const void *s, size_t n, int root) { \
        return SPELLED(NAME, broadcast)(team, (T *)d, (const T *)s, n, root); \
    } \
    static int FORM##_##NAME##_collect(shmem_team_t team, void *d, const void *s, size_t n) { \
        return SPELLED(NAME, collect)(team, (T *)d, (const T *)s, n); \
    } \
    static int FORM##_##NAME##_fcollect(shmem_team_t team, void *d, const void *s, size_t n) { \
        return SPELLED(NAME, fcollect)(team, (T *)d, (const T *)s, n); \
    } \
    static int FORM##_##NAME##_alltoall(shmem_team_t team, void *d, const void *s, size_t n) { \
        return SPELLED(NAME, alltoall)(team, (T *)d, (const T *)s, n); \
    } \
    static int FORM##_##NAME##_alltoalls(shmem_team_t team, void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t n) { \
        return SPELLED(NAME, alltoalls)(team, (T *)d, (const T *)s, dst, sst, n); \
    }

#define TYPED_SPELLING(NAME, OP) shmem_##NAME##_##OP
#define GENERIC_SPELLING(NAME, OP) shmem_##OP
#define MEM_SPELLING(NAME, OP) shmem_##OP##mem

#define TYPED_MOVEMENT(NAME, T) MOVEMENT(typed, NAME, T, TYPED_SPELLING)
#define GENERIC_MOVEMENT(NAME, T) MOVEMENT(generic, NAME, T, GENERIC_SPELLING)

RMA_TYPES(TYPED_MOVEMENT)
DISTINCT_RMA_TYPES(GENERIC_MOVEMENT)
MOVEMENT(untyped, mem, void, MEM_SPELLING)

#define MOVEMENT_ROW(FORM, NAME, SIZE) \
    {#FORM " " #NAME, SIZE, FORM##_##NAME##_broadcast, FORM##_##NAME##_collect, FORM##_##NAME##_fcollect, \
   FORM##_##NAME##_alltoall, FORM##_##NAME##_alltoalls},
#define TYPED_ROW(NAME, T) MOVEMENT_ROW(typed, NAME, sizeof(T))
#define GENERIC_ROW(NAME, T) MOVEMENT_ROW(generic, NAME, sizeof(T))

static const struct movement movements[] = {RMA_TYPES(TYPED_ROW) DISTINCT_RMA_TYPES(GENERIC_ROW) MOVEMENT_ROW(untyped, mem, 1)};

#define FOR_EACH_MOVEMENT(MOVE) \
    for (const struct movement *MOVE = movements; MOVE < movements + sizeof movements / sizeof *movements; MOVE++)

/* Source and dest lie once in static data and once on the heap. */
struct buffers {
    const char *where;
    unsigned char *source, *dest;
};

enum { BUFFER_BYTES = 16 * 1024, GUARD = 0xa5 };

static inline void make_buffers(struct buffers pair[2])
{
    static _Alignas(16) unsigned char static_source[BUFFER_BYTES], static_dest[BUFFER_BYTES];
    pair[0] = (struct buffers){"static", static_source, static_dest};
    pair[1] = (struct buffers){"heap", shmem_align(16, BUFFER_BYTES), shmem_align(16, BUFFER_BYTES)};
    REQUIRE(pair[1].source != NULL && pair[1].dest != NULL);
}

static inline void free_buffers(struct buffers pair[2])
{
    shmem_free(pair[1].dest);
    shmem_free(pair[1].source);
}

/* Byte `at` of what a PE contributes: a function of the PE's world number, so that every reader can compute it. */
static inline unsigned char contributed(int world, size_t at) { return (unsigned char)mix((uint64_t)world + 1, at); }

static inline void contribute(unsigned char *source, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) source[at] = contributed(me, at);
}

static inline bool same_bytes(const char *what, const unsigned char *got, const unsigned char *want, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if (got[at] != want[at]) {
            fprintf(stderr, "PE %d, %s: byte %zu of %zu is %#x, not %#x\n", me, what, at, bytes, got[at], want[at]);
            return false;
        }
    return true;
}

/* Checks every movement on every team of mine, in both kinds of memory. */
static inline void for_every_form(void (*check)(const struct team *, const struct movement *, const struct buffers *))
{
    struct team teams[SHAPES];
    struct buffers buffers[2];
    make_teams(teams);
    make_buffers(buffers);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        FOR_EACH_MOVEMENT(move)
            for (int i = 0; i < 2; i++) check(team, move, &buffers[i]);
    shmem_barrier_all();
    free_buffers(buffers);
    destroy_teams(teams);
}

#endif
