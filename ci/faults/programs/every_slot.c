/* As many teams as there can be: every team is split until there is no room for another one. Their number is printed. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { MOST = 5000 };

static shmem_team_t teams[MOST];

int main(void)
{
    shmem_init();
    int made = 3;
    teams[0] = SHMEM_TEAM_WORLD;
    teams[1] = SHMEM_TEAM_SHARED;
    teams[2] = SHMEM_TEAM_NODE;
    for (int parent = 0; parent < made; parent++) {
        int pes = shmem_team_n_pes(teams[parent]);
        while (made < MOST && shmem_team_split_strided(teams[parent], 0, 1, pes, NULL, 0, &teams[made]) == 0) made++;
    }
    if (shmem_my_pe() == 0) printf("%d teams\n", made);
    while (made > 3) shmem_team_destroy(teams[--made]);
    shmem_finalize();
    return 0;
}
