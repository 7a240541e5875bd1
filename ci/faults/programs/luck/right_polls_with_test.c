/* shmem_test makes progress. */
#include "luck.h"
static long flag;
int main(void)
{
    shmem_init();
    shmem_long_p(&flag, 3, (shmem_my_pe() + 1) % shmem_n_pes());
    while (!shmem_long_test(&flag, SHMEM_CMP_EQ, 3))
        ;
    EXPECT(flag, 3);
    shmem_finalize();
}
