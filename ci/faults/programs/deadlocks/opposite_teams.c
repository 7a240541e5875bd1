/* Two teams of the same PEs meet in opposite orders. */
#include <shmem.h>

int main(void)
{
    shmem_team_t one, two;
    shmem_init();
    int pes = shmem_n_pes(), odd = shmem_my_pe() % 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &one);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &two);
    shmem_team_sync(odd ? one : two);
    shmem_team_sync(odd ? two : one);
    shmem_finalize();
    return 0;
}
