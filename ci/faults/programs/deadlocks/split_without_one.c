/* PE 2 does not take part in a split of the world, and the team that it belongs to meets. */
#include <shmem.h>

static long flag;

int main(void)
{
    shmem_team_t team;
    shmem_init();
    if (shmem_my_pe() == 2)
        shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 3, NULL, 0, &team);
    shmem_team_sync(team);
    shmem_finalize();
    return 0;
}
