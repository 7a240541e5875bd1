/* Teams as explicit lists of world numbers: what the standard says a team is, computed without the library,
   and the checks that compare a handle with such a list. */
#ifndef TEAMS_MEMBERSHIP_H
#define TEAMS_MEMBERSHIP_H

#include "../check.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>

enum { MAX_PES = 256 };

struct members {
    int size;
    int world[MAX_PES];
};

static inline struct members everyone(void)
{
    struct members all = {.size = npes};
    for (int pe = 0; pe < all.size; pe++) all.world[pe] = pe;
    return all;
}

static inline struct members triplet_of(const struct members *parent, int start, int stride, int size)
{
    struct members picked = {.size = size};
    for (int i = 0; i < size; i++) picked.world[i] = parent->world[start + i * stride];
    return picked;
}

/* The number of a PE in the team, -1 for an outsider. */
static inline int place_of(const struct members *team, int world)
{
    for (int i = 0; i < team->size; i++)
        if (team->world[i] == world) return i;
    return -1;
}

static inline int my_place(const struct members *team) { return place_of(team, me); }

/* The handle agrees with the list in every query; an outsider has to hold the invalid handle. */
static inline bool queries_agree(shmem_team_t team, const struct members *want)
{
    int mine = my_place(want);
    if (mine < 0) return team == SHMEM_TEAM_INVALID;
    bool agree = team != SHMEM_TEAM_INVALID && shmem_team_my_pe(team) == mine && shmem_team_n_pes(team) == want->size;
    for (int i = 0; agree && i < want->size; i++)
        agree = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == want->world[i];
    for (int pe = 0; agree && pe < npes; pe++)
        agree = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) == place_of(want, pe);
    if (!agree) fprintf(stderr, "PE %d: team of %d members, queries disagree with the list\n", me, want->size);
    return agree;
}

/* The members find each other through the team, in the order of the list. Collective over the members. */
static inline bool roll_call_agrees(shmem_team_t team, const struct members *want)
{
    static int own_number[1], numbers[MAX_PES];
    if (my_place(want) < 0) return true;
    own_number[0] = me;
    for (int i = 0; i < MAX_PES; i++) numbers[i] = -1;
    bool agree = shmem_team_sync(team) == 0 && shmem_int_fcollect(team, numbers, own_number, 1) == 0;
    for (int i = 0; i < MAX_PES; i++) agree &= numbers[i] == (i < want->size ? want->world[i] : -1);
    agree &= shmem_team_sync(team) == 0; /* nobody may write the next roll call before all have read this one */
    if (!agree) fprintf(stderr, "PE %d: roll call of %d members disagrees with the list\n", me, want->size);
    return agree;
}

static inline bool is_team(shmem_team_t team, const struct members *want)
{
    bool numbered = queries_agree(team, want); /* the roll call is due in any case: the other members wait for it */
    return roll_call_agrees(team, want) && numbered;
}

static inline shmem_team_t split(shmem_team_t parent, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD; /* must be overwritten, on outsiders too */
    CHECK_EQ(shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team), 0);
    return team;
}

struct team {
    const char *shape;
    shmem_team_t handle;
    struct members members;
};

enum { SHAPES = 6 };

/* One team of each shape a collective may meet. Collective over the world; a caller outside a team holds the invalid handle. */
static inline void make_teams(struct team teams[SHAPES])
{
    struct members all = everyone();
    int n = all.size, half = (n + 1) / 2;
    teams[0] = (struct team){"world", SHMEM_TEAM_WORLD, all};
    teams[1] = (struct team){"reversed", split(SHMEM_TEAM_WORLD, n - 1, -1, n), triplet_of(&all, n - 1, -1, n)};
    teams[2] = (struct team){"even", split(SHMEM_TEAM_WORLD, 0, 2, half), triplet_of(&all, 0, 2, half)};
    teams[3] = (struct team){"upper half", split(SHMEM_TEAM_WORLD, n / 2, 1, n - n / 2), triplet_of(&all, n / 2, 1, n - n / 2)};
    teams[4] = (struct team){"even of reversed", split(teams[1].handle, 0, 2, half), triplet_of(&teams[1].members, 0, 2, half)};
    teams[5] = (struct team){"alone", SHMEM_TEAM_INVALID, triplet_of(&all, me, 1, 1)};
    for (int pe = 0; pe < n; pe++) {
        shmem_team_t alone = split(SHMEM_TEAM_WORLD, pe, 1, 1);
        if (pe == me) teams[5].handle = alone;
    }
}

static inline void destroy_teams(struct team teams[SHAPES])
{
    for (int i = 1; i < SHAPES; i++) shmem_team_destroy(teams[i].handle);
}

#define FOR_EACH_TEAM_OF_MINE(TEAM, TEAMS) \
    for (const struct team *TEAM = (TEAMS); TEAM < (TEAMS) + SHAPES; TEAM++) \
        if (TEAM->handle != SHMEM_TEAM_INVALID)

/* A hash of two numbers: every byte differs between members, between elements and between neighbours. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u + 0x2545f4914f6cdd1du;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Makes PEs arrive at different times without a clock: results may not depend on it. */
static inline void stagger(uint64_t seed)
{
    for (uint64_t turns = mix(seed, (uint64_t)me) % 6; turns > 0; turns--) sched_yield();
}

/* One PE is plainly late. */
static inline void come_late(bool late)
{
    for (int turns = 0; late && turns < 2000; turns++) sched_yield();
}

#endif
