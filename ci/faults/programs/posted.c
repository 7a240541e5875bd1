/* posted set|set_roots|set_again|shared|left|left_again|left_roots|roots|barrier|again|finalize|destroy|length|order|half|half_later: two
 * PEs make different broadcasts. */
#include <shmem.h>
#include <string.h>
#include <unistd.h>

static long dest[100], source[100], psync[SHMEM_BCAST_SYNC_SIZE];

int main(int argc, char **argv)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    if (argc < 2) return 2;
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    const char *what = argv[1];
    if (!strcmp(what, "set") && me == 0)
        shmem_broadcast64(dest, source, 1, 0, 0, 0, 2, psync);
    /* All make the first one, and all but PE 1 the second one. */
    if (!strcmp(what, "set_again"))
        for (int i = 0; i < 2 - (me == 1); i++)
            shmem_broadcast64(dest, source, 1, 0, 0, 0, pes, psync);
    if (!strcmp(what, "left_again")) {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
        for (int i = 0; i < 2 - (me == 1); i++)
            shmem_long_broadcast(team, dest, source, 1, 0);
    }
    /* All make the first one from PE 0; of the second one each takes itself for the root. */
    if (!strcmp(what, "left_roots")) {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
        for (int i = 0; i < 2; i++)
            shmem_long_broadcast(team, dest, source, 1, i * me);
    }
    /* Each takes itself for the root. */
    if (!strcmp(what, "set_roots"))
        shmem_broadcast64(dest, source, 1, me, 0, 0, 2, psync);
    if (!strcmp(what, "roots"))
        shmem_long_broadcast(SHMEM_TEAM_SHARED, dest, source, 1, me);
    if (!strcmp(what, "shared") && me == 0)
        shmem_long_broadcast(SHMEM_TEAM_SHARED, dest, source, 1, 0);
    /* Missed by PE 1, and all meet, or the job ends, or the team; or nobody destroys the team. */
    if (!strcmp(what, "destroy") || !strcmp(what, "left"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
    const int is_missed = !strcmp(what, "barrier") || !strcmp(what, "finalize") || !strcmp(what, "destroy") || !strcmp(what, "left");
    if (is_missed && me == 0)
        shmem_long_broadcast(team, dest, source, 1, 0);
    if (!strcmp(what, "barrier"))
        shmem_barrier_all();
    /* All make one broadcast, for which a team between nodes finds memory; then PE 1 misses one. */
    if (!strcmp(what, "again")) {
        shmem_long_broadcast(team, dest, source, 1, 0);
        shmem_barrier_all();
        if (me == 0) shmem_long_broadcast(team, dest, source, 1, 0);
        shmem_barrier_all();
    }
    /* PE 0 sends two elements and goes on; PE 1 comes later, for one. */
    if (!strcmp(what, "length")) {
        if (me) usleep(100000);
        shmem_long_broadcast(team, dest, source, me ? 1 : 2, 0);
        shmem_long_min_reduce(team, dest, source, 1);
    }
    /* PE 0 sends one element, then many; PE 1 comes later, for the many. */
    if (!strcmp(what, "order")) {
        if (me)
            usleep(100000);
        else
            shmem_long_broadcast(team, dest, source, 1, 0);
        shmem_long_broadcast(team, dest, source, 100, 0);
        shmem_barrier_all();
    }
    /* PE 1 leaves out the broadcast in which the members of a node meet, because a half of their ring is full. */
    if (!strcmp(what, "half_later"))
        shmem_barrier_all();
    if (!strncmp(what, "half", 4)) {
        for (int i = 0; i < 129 - (me == 1); i++)
            shmem_long_broadcast(team, dest, source, 1, 0);
        shmem_barrier_all();
    }
    if (!strcmp(what, "destroy"))
        shmem_team_destroy(team);
    shmem_finalize();
    return 0;
}
