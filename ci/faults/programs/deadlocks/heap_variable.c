/* A ring in the heap in which nobody begins: each PE waits for the one before it. */
#include <shmem.h>

int main(void)
{
    shmem_init();
    long *turn = shmem_calloc(1, sizeof *turn);
    int me = shmem_my_pe(), pes = shmem_n_pes();
    shmem_long_wait_until(turn, SHMEM_CMP_EQ, 1);
    shmem_long_p(turn, 1, (me + 1) % pes);
    shmem_finalize();
    return 0;
}
