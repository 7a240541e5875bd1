/* Exchanges of lines that go in several batches: more members than a board has room for, in teams that have been lent a zone and in
 * those that came too late for one; members in the order of their nodes, and mixed. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEAMS = 18, WORDS = 7 };

static long mine[WORDS], all[WORDS * 512];
static char brought[40], row[40 * 512];
static int me, npes;

static void wrong(const char *what, int team, int at)
{
    printf("PE %d: %s of team %d is wrong at %d\n", me, what, team, at);
    fflush(stdout);
    shmem_global_exit(3);
}

/* The lines of a team, each of one word and of seven, and blocks of different lengths that are shorter than a line. */
static void check(shmem_team_t team, int number, int round)
{
    const int my = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    for (int words = 1; words <= WORDS; words += WORDS - 1) {
        for (int i = 0; i < words; i++)
            mine[i] = 1000L * my + 10 * i + number + round;
        shmem_long_fcollect(team, all, mine, (size_t)words);
        for (int i = 0; i < size * words; i++)
            if (all[i] != 1000L * (i / words) + 10 * (i % words) + number + round)
                wrong("fcollect", number, i);
    }
    memset(brought, my + number + round, sizeof brought);
    shmem_char_collect(team, row, brought, (size_t)((my + round) % 40));
    for (int member = 0, at = 0; member < size; member++)
        for (int i = 0; i < (member + round) % 40; i++, at++)
            if (row[at] != (char)(member + number + round))
                wrong("collect", number, at);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    shmem_team_t teams[TEAMS];
    for (int i = 0; i < TEAMS; i++) {
        /* Every other team has its members in an order that mixes the nodes. */
        const int key = i % 2 ? me * 7 % npes : me;
        shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, key, &teams[i]);
        if (teams[i] == SHMEM_TEAM_INVALID)
            wrong("the split", i, 0);
        for (int round = 0; round < 3; round++)
            check(teams[i], i, round);
    }
    for (int i = 0; i < TEAMS; i++)
        check(teams[i], i, 3);
    check(SHMEM_TEAM_WORLD, TEAMS, 4);
    if (me == 0)
        printf("all right\n");
    shmem_finalize();
    return 0;
}
