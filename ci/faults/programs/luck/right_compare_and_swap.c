/* One PE wins each word. */
#include "luck.h"
static int word[8], won;
int main(void)
{
    shmem_init();
    for (int i = 0; i < 8; i++)
        if (shmem_int_atomic_compare_swap(&word[i], 0, 1 + shmem_my_pe(), 0) == 0)
            shmem_int_atomic_inc(&won, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        EXPECT(won, 8);
    shmem_finalize();
}
