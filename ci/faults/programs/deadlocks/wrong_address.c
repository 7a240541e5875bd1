/* PE 0 changes `other` on PE 1, and PE 1 waits for `flags[2]`. */
#include <shmem.h>

long other;
long flags[4];

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0)
        shmem_long_p(&other, 1, 1);
    if (shmem_my_pe() == 1)
        shmem_long_wait_until(&flags[2], SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
