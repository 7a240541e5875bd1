/* Begins with start_pes, so that the exit of the process is the finalize. The last PE exits with status 5. ARGUMENT:
 * "early": the others wait for a variable that nobody sets, or for a lock; "together": they end a little later, and say so. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long word, lock;

int main(int argc, char **argv)
{
    int early = argc > 1 && strcmp(argv[1], "early") == 0;
    start_pes(0);
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (me == last)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == last)
        exit(5);
    if (early && me % 2 == 0)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
    if (early)
        shmem_set_lock(&lock);
    usleep(300000);
    printf("PE %d has come to its end\n", me);
    return 0;
}
