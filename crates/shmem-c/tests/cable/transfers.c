/* Transfers between two nodes that check themselves, until a file exists: what the tests run whose cable is pulled.
 * Every PE works with one PE of the other node. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

enum { WORDS = 1 << 17 };

static long count, stop;
static uint64_t signal_word;

static long value(long round, int pe, long i) { return round * 1000003 + pe * 31 + i; }

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), partner = (me + npes / 2) % npes;
    long *block = shmem_malloc(WORDS * sizeof *block), *local = shmem_malloc(2 * WORDS * sizeof *local);
    if (argc != 2 || !block || !local)
        shmem_global_exit(2);
    long *back = local + WORDS, round = 0;
    while (!stop) {
        round++;
        for (long i = 0; i < WORDS; i++)
            local[i] = value(round, me, i);
        shmem_long_put_nbi(block, local, WORDS, partner);
        shmem_quiet();
        shmem_long_get(back, block, WORDS, partner);
        long old = shmem_long_atomic_fetch_inc(&count, partner);
        for (long i = 0; i < WORDS; i++)
            if (back[i] != local[i]) {
                printf("WRONG: PE %d, round %ld, word %ld came back as %ld\n", me, round, i, back[i]);
                shmem_global_exit(1);
            }
        if (old != round - 1) {
            printf("WRONG: PE %d, round %ld: an atomic found %ld\n", me, round, old);
            shmem_global_exit(1);
        }
        shmem_long_put_signal(block, local, WORDS, &signal_word, round, SHMEM_SIGNAL_SET, partner);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round);
        for (long i = 0; i < WORDS; i++)
            if (block[i] != value(round, partner, i)) {
                printf("WRONG: PE %d, round %ld: word %ld is %ld behind its signal\n", me, round, i, block[i]);
                shmem_global_exit(1);
            }
        if (me == 0 && access(argv[1], F_OK) == 0)
            for (int pe = 0; pe < npes; pe++)
                shmem_long_p(&stop, 1, pe);
        if (me == 0 && round <= 10) {
            printf("round %ld\n", round);
            fflush(stdout);
        }
        shmem_barrier_all();
    }
    if (me == 0)
        printf("all right after %ld rounds\n", round);
    shmem_finalize();
    return 0;
}
