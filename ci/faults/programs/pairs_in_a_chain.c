/* Each PE meets the next one before the one before it, by active sets of two. So the meetings end one after the other, from the last
 * pair on, which comes when all others have begun theirs. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long psyncs[2][SHMEM_BARRIER_SYNC_SIZE];

int main(void)
{
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        psyncs[0][i] = psyncs[1][i] = SHMEM_SYNC_VALUE;
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    if (me == npes - 2)
        sleep(5);
    if (me + 1 < npes)
        shmem_barrier(me, 0, 2, psyncs[me % 2]);
    if (me > 0)
        shmem_barrier(me - 1, 0, 2, psyncs[(me - 1) % 2]);
    shmem_barrier_all();
    if (me == 0)
        printf("%d PEs met in a chain\n", npes);
    shmem_finalize();
    return 0;
}
