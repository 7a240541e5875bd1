/* A chain of teams that are all alive, each of which is split once. The argument is its length. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static int mine, most;

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 1;
    shmem_team_t *teams = malloc((size_t)(depth + 1) * sizeof *teams);
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    teams[0] = SHMEM_TEAM_WORLD;
    for (int i = 1; i <= depth; i++)
        if (shmem_team_split_strided(teams[i - 1], 0, 1, pes, NULL, 0, &teams[i]) != 0) {
            printf("PE %d: team %d has not been made\n", me, i);
            exit(3);
        }
    mine = me;
    shmem_int_max_reduce(teams[depth], &most, &mine, 1);
    if (most != pes - 1) {
        printf("PE %d: %d is not the greatest\n", me, most);
        exit(3);
    }
    for (int i = depth; i > 0; i--) shmem_team_destroy(teams[i]);
    shmem_finalize();
    free(teams);
    return 0;
}
