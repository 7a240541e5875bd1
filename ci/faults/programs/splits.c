/* Members of a team that split it with different arguments; one for each name. */
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

static long sum[1], part[1];

int main(int argc, char **argv)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, other = SHMEM_TEAM_INVALID;
    if (argc < 2) return 2;
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    const char *what = argv[1];
    if (!strcmp(what, "start"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, me ? 0 : 1, 1, pes - 1, NULL, 0, &team);
    if (!strcmp(what, "stride"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, me == 1 ? 2 : 1, 2, NULL, 0, &team);
    if (!strcmp(what, "size"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me == 2 ? 2 : pes, NULL, 0, &team);
    if (!strcmp(what, "xrange"))
        shmem_team_split_2d(SHMEM_TEAM_WORLD, me == 3 ? 2 : 4, NULL, 0, &team, NULL, 0, &other);
    if (!strcmp(what, "kind")) {
        if (me)
            shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
        else
            shmem_team_split_2d(SHMEM_TEAM_WORLD, pes, NULL, 0, &team, NULL, 0, &other);
    }
    /* Cray's split of all members, beside another one. */
    if (!strcmp(what, "whole")) {
        if (me)
            shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
        else
            shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, &team);
    }
    /* A split that one PE has missed: of all PEs, and of a team. */
    if (!strcmp(what, "missed") && me) shmem_team_split_strided(SHMEM_TEAM_WORLD, 2, 1, 1, NULL, 0, &team);
    if (!strcmp(what, "missed part")) {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes - 1, NULL, 0, &other);
        if (me && other != SHMEM_TEAM_INVALID) shmem_team_split_strided(other, 2, 1, 1, NULL, 0, &team);
        shmem_team_destroy(other);
    }
    /* The last PE is no member, and has not filled its configuration in. */
    shmem_team_config_t config = {me < pes - 1 && !strcmp(what, "contexts unused") ? 1 : -4};
    if (!strcmp(what, "contexts") || !strcmp(what, "contexts unused"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes - 1, &config, SHMEM_TEAM_NUM_CONTEXTS, &team);
    if (!strcmp(what, "contexts of a grid"))
        shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &team, &config, SHMEM_TEAM_NUM_CONTEXTS, &other);
    /* Without its bit the field counts for nothing. */
    if (!strcmp(what, "contexts unused"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, &config, 0, &other);
    /* Slots are used by one team after the other, with other arguments each time. */
    if (!strcmp(what, "right"))
        for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 100); i++) {
            shmem_team_t some;
            shmem_team_split_strided(SHMEM_TEAM_WORLD, i % 2, 1, pes - i % 2 - i % 3 % 2, NULL, 0, &some);
            shmem_team_destroy(some);
            shmem_team_split_2d(SHMEM_TEAM_WORLD, 1 + i % pes, NULL, 0, &other, NULL, 0, &team);
            shmem_long_sum_reduce(other, sum, part, 1);
            shmem_team_t child;
            shmem_team_split_strided(other, 0, 1, 1 + i % shmem_team_n_pes(other), NULL, 0, &child);
            if (child != SHMEM_TEAM_INVALID) shmem_team_sync(child);
            shmem_team_destroy(child);
            shmem_team_destroy(team);
            shmem_team_destroy(other);
            if (i % 50 == 0) shmem_barrier_all();
            team = SHMEM_TEAM_INVALID;
        }
    if (team != SHMEM_TEAM_INVALID) shmem_long_sum_reduce(team, sum, part, 1);
    shmem_finalize();
    return strcmp(what, "right") ? 3 : 0;
}
