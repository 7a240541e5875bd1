/* Each PE puts to the next one and compares. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    static long number = -1;
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_long_p(&number, me, (me + 1) % npes);
    shmem_barrier_all();
    printf("PE %d has %s\n", me, number == (me + npes - 1) % npes ? "what it should" : "something else");
    shmem_finalize();
    return 0;
}
