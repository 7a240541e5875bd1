/* Teams that come and go, active sets, and their meetings. */
#include "random.h"

enum { TEAMS = 7 };
static group teams[TEAMS]; /* the first is the world, for ever */

static void place_me(group *of)
{
    of->my = -1;
    for (int i = 0; i < of->size; i++)
        if (of->member[i] == me)
            of->my = i;
}

void groups_open(void)
{
    teams[0] = (group){.team = SHMEM_TEAM_WORLD, .size = npes, .alive = 1, .name = "the world"};
    for (int pe = 0; pe < npes; pe++)
        teams[0].member[pe] = pe;
    place_me(&teams[0]);
}

group *any_team(void)
{
    for (;;) {
        group *drawn = &teams[one_in(3) ? 0 : below(TEAMS)];
        if (drawn->alive)
            return drawn;
    }
}

group any_group(void)
{
    if (!one_in(4))
        return *any_team();
    group of = {.active = 1, .alive = 1, .team = SHMEM_TEAM_INVALID};
    do {
        of.start = (int)below((size_t)npes);
        of.log_stride = (int)below(3);
    } while (of.start + (1 << of.log_stride) >= npes && npes > 2 && !one_in(4));
    const int most = (npes - 1 - of.start) / (1 << of.log_stride) + 1;
    of.size = one_in(2) ? most : 1 + (int)below((size_t)most);
    for (int i = 0; i < of.size; i++)
        of.member[i] = of.start + (i << of.log_stride);
    place_me(&of);
    snprintf(of.name, sizeof of.name, "the active set (%d, %d, %d)", of.start, of.log_stride, of.size);
    return of;
}

/* Checks what the library says of a new team, and keeps it. */
static void begin(group *of, shmem_team_t team, const char *how, const group *parent)
{
    place_me(of);
    of->team = team;
    of->alive = 1;
    if ((of->my >= 0) != (team != SHMEM_TEAM_INVALID))
        wrong(how, team != SHMEM_TEAM_INVALID, of->my >= 0);
    if (of->my >= 0 && (shmem_team_my_pe(team) != of->my || shmem_team_n_pes(team) != of->size))
        wrong("a team's number or size", (uint64_t)shmem_team_my_pe(team) << 32 | (uint64_t)shmem_team_n_pes(team),
            (uint64_t)of->my << 32 | (uint64_t)of->size);
    snprintf(of->name, sizeof of->name, "a team of %d (%s of %d, step %d)", of->size, how, parent->size, step);
}

static void end(group *of)
{
    contexts_of_team_end(of);
    wait_for_team(of);
    if (of->my >= 0)
        shmem_team_destroy(of->team);
    of->alive = 0;
}

static void strided(const group *parent, group *of)
{
    const int start = (int)below((size_t)parent->size), stride = 1 + (int)below(3), vendor = one_in(3), contexts = one_in(4);
    const int most = (parent->size - 1 - start) / stride + 1, size = one_in(2) ? most : 1 + (int)below((size_t)most);
    shmem_team_t team = SHMEM_TEAM_INVALID;
    const shmem_team_config_t config = {.num_contexts = 2};
    int status = 0;
    *of = (group){.size = size};
    for (int i = 0; i < size; i++)
        of->member[i] = parent->member[start + i * stride];
    /* Cray's form numbers its members by their numbers in the world, whatever their order in the parent. */
    for (int i = 1; vendor && i < size; i++)
        for (int j = i; j > 0 && of->member[j - 1] > of->member[j]; j--) {
            const int larger = of->member[j - 1];
            of->member[j - 1] = of->member[j];
            of->member[j] = larger;
        }
    if (parent->my >= 0 && vendor)
        shmemx_team_split_strided(parent->team, start, stride, size, &team);
    else if (parent->my >= 0)
        status = shmem_team_split_strided(parent->team, start, stride, size, contexts ? &config : NULL,
            contexts ? SHMEM_TEAM_NUM_CONTEXTS : 0, &team);
    place_me(of);
    if (of->my >= 0 && status)
        wrong("a strided split failed", (uint64_t)status, 0);
    begin(of, team, "strided", parent);
}

/* Members of other colours end their teams at once. */
static void by_colour(const group *parent, group *of)
{
    const uint64_t salt = draw();
    const int colours = 1 + (int)below(3);
    int colour[MOST_PES], key[MOST_PES];
    shmem_team_t team = SHMEM_TEAM_INVALID;
    *of = (group){0};
    for (int i = 0; i < parent->size; i++) {
        colour[i] = i == 0 ? 0 : (int)(mixed(salt + (uint64_t)i) % (uint64_t)colours);
        key[i] = (int)(mixed(salt - (uint64_t)i) % 1000);
    }
    for (int key_now = 0; key_now < 1000; key_now++)
        for (int i = 0; i < parent->size; i++)
            if (colour[i] == 0 && key[i] == key_now)
                of->member[of->size++] = parent->member[i];
    if (parent->my >= 0)
        shmemx_team_split_color(parent->team, colour[parent->my], key[parent->my], &team);
    if (parent->my >= 0 && colour[parent->my] != 0) {
        shmem_team_destroy(team);
        team = SHMEM_TEAM_INVALID;
    }
    begin(of, team, "by colour", parent);
}

/* One row of the grid, or one column; the others end at once. */
static void grid(const group *parent, group *of)
{
    const int width = 1 + (int)below((size_t)parent->size), row = one_in(2);
    const int rows = (parent->size + width - 1) / width, chosen = (int)below((size_t)(row ? rows : width));
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    *of = (group){0};
    for (int i = 0; i < parent->size; i++)
        if ((row ? i / width : i % width) == chosen)
            of->member[of->size++] = parent->member[i];
    place_me(of);
    if (parent->my >= 0 && shmem_team_split_2d(parent->team, width, NULL, 0, &x, NULL, 0, &y) != 0)
        wrong("a split by a grid failed", 1, 0);
    shmem_team_destroy(row ? y : x);
    if (of->my < 0) {
        shmem_team_destroy(row ? x : y);
        x = y = SHMEM_TEAM_INVALID;
    }
    begin(of, row ? x : y, "a grid", parent);
}

void change_teams(void)
{
    group *of = &teams[1 + below(TEAMS - 1)];
    const size_t how = below(4);
    if (of->alive) {
        snprintf(about, sizeof about, "the end of %s", of->name);
        end(of);
        if (one_in(3))
            return;
    }
    group *parent = any_team();
    snprintf(about, sizeof about, "a split of %s", parent->name);
    if (how == 0)
        by_colour(parent, of);
    else if (how == 1)
        grid(parent, of);
    else
        strided(parent, of);
}

void meet(void)
{
    const group of = any_group();
    const size_t how = below(6);
    snprintf(about, sizeof about, "a meeting of %s", of.name);
    if (how == 0) {
        shmem_barrier_all();
    } else if (how == 1) {
        shmem_sync_all();
    } else if (of.active) {
        room_for(0, 1);
        long *psync = fresh_psync();
        /* The same array may be used again at once by barriers of the same set. */
        for (size_t times = 1 + below(3); times; times--)
            if (of.my >= 0 && how < 4)
                shmem_barrier(of.start, of.log_stride, of.size, psync);
            else if (of.my >= 0)
                shmem_sync(of.start, of.log_stride, of.size, psync);
    } else if (how == 2 && of.my >= 0) {
        shmemx_sync_nb(of.team, new_request(&of));
        under_way(NULL, NULL, 0, 0);
    } else if (of.my >= 0) {
        if (shmem_team_sync(of.team) != 0)
            wrong("shmem_team_sync", 1, 0);
    }
}
