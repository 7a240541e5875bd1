/* The recorder pauses while all PEs synchronise with shmem_sync_all. Then PE 0 waits for a signal that nobody sends. */
#include <shmem.h>

static uint64_t signal_word;

int main(void)
{
    shmem_init();
    shmem_barrier_all();
    shmem_pcontrol(-1);
    shmem_sync_all();
    shmem_pcontrol(1);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    if (shmem_my_pe() == 0)
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
