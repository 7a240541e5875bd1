/* Every second meeting is recorded: there are more of those than a record keeps, and no two numbers that follow each other. */
#include <shmem.h>

int main(void)
{
    shmem_init();
    for (int i = 0; i < 20000; i++) {
        shmem_pcontrol(0);
        shmem_barrier_all();
        shmem_pcontrol(1);
        shmem_barrier_all();
    }
    shmem_finalize();
}
