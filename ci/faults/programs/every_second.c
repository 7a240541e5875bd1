/* Every second meeting is recorded: there are more of those than a record keeps, and no two numbers that follow each other. Then
 * come 1000 waits for a value that is there. */
#include <shmem.h>

static long mine = 1;

int main(void)
{
    shmem_init();
    for (int i = 0; i < 20000; i++) {
        shmem_pcontrol(0);
        shmem_barrier_all();
        shmem_pcontrol(1);
        shmem_barrier_all();
    }
    for (int i = 0; i < 1000; i++)
        shmem_long_wait_until(&mine, SHMEM_CMP_EQ, 1);
    shmem_finalize();
}
