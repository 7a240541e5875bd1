/* A pipeline of PEs: each takes blocks from the PE before it, works on them, and hands them on. Two words steer a pair: the signal `full`
 * says that a block has come, the counter `empty` that its place may be used again. So several blocks are under way at a time. */
#include <shmem.h>
#include <stdio.h>

enum { BLOCKS = 200, WORDS = 512, PLACES = 4 };

static long place[PLACES][WORDS];
static uint64_t full;  /* blocks that have come to me */
static uint64_t empty; /* blocks that the next PE has taken */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long checked = 0;

    for (uint64_t block = 0; block < BLOCKS; block++) {
        long work[WORDS];
        long *mine = place[block % PLACES];
        if (me == 0)
            for (int i = 0; i < WORDS; i++)
                work[i] = (long)block;
        else {
            shmem_signal_wait_until(&full, SHMEM_CMP_GE, block + 1);
            for (int i = 0; i < WORDS; i++)
                work[i] = mine[i] + 1;
            shmem_uint64_atomic_inc(&empty, me - 1);
        }
        if (me + 1 < n) {
            if (block >= PLACES)
                shmem_uint64_wait_until(&empty, SHMEM_CMP_GE, block - PLACES + 1);
            shmem_long_put_signal(mine, work, WORDS, &full, 1, SHMEM_SIGNAL_ADD, me + 1);
        } else
            for (int i = 0; i < WORDS; i++)
                checked += work[i] == (long)block + n - 1;
    }
    if (me == n - 1 && checked != (long)BLOCKS * WORDS)
        shmem_global_exit(1);
    shmem_barrier_all();
    if (me == 0)
        printf("%d blocks went through %d PEs\n", BLOCKS, n);
    shmem_finalize();
    return 0;
}
