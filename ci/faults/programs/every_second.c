/* Every second meeting is recorded: there are more of those than a record keeps, and no two numbers that follow each other. Then
 * come 1000 waits for a value that is there. An init fails before, and PE 0 alone makes calls of the heap that do nothing. No call
 * ends the life of the library. */
#include <shmem.h>

static long mine = 1;

int main(void)
{
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE + 1, &provided) == 0)
        return 1;
    start_pes(0);
    if (shmem_my_pe() == 0) {
        shmem_free(NULL);
        shmem_malloc(0);
        shmem_realloc(NULL, 0);
    }
    for (int i = 0; i < 20000; i++) {
        shmem_pcontrol(0);
        shmem_barrier_all();
        shmem_pcontrol(1);
        shmem_barrier_all();
    }
    for (int i = 0; i < 1000; i++)
        shmem_long_wait_until(&mine, SHMEM_CMP_EQ, 1);
    return 0;
}
