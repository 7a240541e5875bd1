/* Puts with signals, of lengths around those of the pieces in which they may travel: a PE that sees the signal has all
 * of the data. The arguments are the length of the longest put, and how often there is one of each length. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1 << 10, MIB = 1 << 20, FORMS = 3 };

static const size_t lengths[] = {
    1, 8 * KIB + 1, 16 * KIB + 1, 256 * KIB - 8, 256 * KIB + 1, 512 * KIB - 1, 512 * KIB + 8, MIB - 1, MIB, MIB + 1,
    MIB + 4096, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 5, 5 * MIB + 512 * KIB, 5 * MIB + 3,
};

static uint64_t signal_word, taken;

static unsigned char octet(int pe, uint64_t round, size_t at)
{
    return (unsigned char)((size_t)pe + round * 13 + at * 3 + (at >> 10));
}

/* The put with signal of a round: blocking, nonblocking, or nonblocking in two parts with a fence between them. */
static void put(unsigned char *to, unsigned char *from, size_t n, int form, uint64_t round, int pe)
{
    if (form == 0) {
        shmem_putmem_signal(to, from, n, &signal_word, round, SHMEM_SIGNAL_SET, pe);
        memset(from, 0xcc, n);
    } else if (form == 1) {
        shmem_putmem_signal_nbi(to, from, n, &signal_word, 1, SHMEM_SIGNAL_ADD, pe);
    } else {
        const size_t part = n / 3;
        shmem_putmem_nbi(to, from, part, pe);
        shmem_fence();
        shmem_putmem_signal(to + part, from + part, n - part, &signal_word, 1, SHMEM_SIGNAL_ADD, pe);
    }
}

int main(int argc, char **argv)
{
    const size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 6 * MIB;
    const int times = FORMS * (argc > 2 ? atoi(argv[2]) : 1);
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes(), right = (me + 1) % npes, left = (me + npes - 1) % npes;
    unsigned char *to = shmem_malloc(most), *from = malloc(most);
    uint64_t round = 0;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int time = 0; time < times && lengths[k] <= most; time++) {
            const size_t n = lengths[k];
            const int form = time % FORMS;
            round++;
            for (size_t i = 0; i < n; i++)
                from[i] = octet(me, round, i);
            put(to, from, n, form, round, right);
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round);
            for (size_t i = 0; i < n; i++)
                if (to[i] != octet(left, round, i)) {
                    printf("PE %d: byte %zu of %zu is not there with the signal, form %d\n", me, i, n, form);
                    fflush(stdout);
                    shmem_global_exit(3);
                }
            shmem_quiet();
            shmem_uint64_p(&taken, round, left);
            shmem_uint64_wait_until(&taken, SHMEM_CMP_EQ, round);
        }
    if (me == 0)
        puts("all right");
    shmem_finalize();
    return 0;
}
