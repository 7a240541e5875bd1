/* PE 0 puts a word to PE 1, and counts there without a pause until PE 1 has answered: a put comes in the end, also without a quiet. */
#include <shmem.h>

static long word, count, answer;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_long_p(&word, 1, 1);
        while (!shmem_long_test(&answer, SHMEM_CMP_EQ, 1))
            shmem_long_atomic_inc(&count, 1);
    } else if (shmem_my_pe() == 1) {
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
        shmem_long_p(&answer, 1, 0);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
