/* Every PE updates two words of its own on each PE, in an order of its own, among puts and gets, and looks at them after a quiet.
 *
 * usage: own_updates ROUNDS */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PES = 16, STEPS = 60, BYTES = 4096 };

static uint64_t words[PES], signals[PES];
static char room[PES][BYTES];

/* Small and good enough: xorshift. */
static uint64_t dice(void)
{
    static uint64_t state;
    if (state == 0)
        state = 88172645463325252u + 7919u * (unsigned)shmem_my_pe();
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void see(uint64_t found, uint64_t expected, const char *what, int pe)
{
    if (found == expected)
        return;
    printf("the %s of PE %d on PE %d differs by %lld after a quiet\n", what, shmem_my_pe(), pe, (long long)(found - expected));
    fflush(stdout);
    shmem_global_exit(1);
}

int main(int argc, char **argv)
{
    static char out[BYTES], in[BYTES];
    static uint64_t fetched[STEPS], word[PES], signal[PES];
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    if (npes > PES)
        shmem_global_exit(2);
    for (int round = 0; round < rounds; round++) {
        const int steps = 1 + (int)(dice() % STEPS);
        for (int i = 0; i < steps; i++) {
            const int pe = (int)(dice() % (unsigned)npes);
            const uint64_t value = dice();
            const size_t bytes = dice() % (dice() % 8 ? 64 : BYTES);
            switch (dice() % 6) {
            case 0: shmem_putmem_signal(room[me], out, 0, &signals[me], value, SHMEM_SIGNAL_ADD, pe); signal[pe] += value; break;
            case 1: shmem_uint64_atomic_fetch_add_nbi(&fetched[i], &words[me], value, pe); word[pe] += value; break;
            case 2: shmem_uint64_atomic_add(&words[me], value, pe); word[pe] += value; break;
            case 3: (void)shmem_uint64_atomic_fetch_add(&words[me], value, pe); word[pe] += value; break;
            case 4: shmem_putmem(room[me], out, bytes, pe); break;
            default: shmem_getmem(in, room[me], bytes, pe);
            }
        }
        shmem_quiet();
        for (int pe = 0; pe < npes; pe++) {
            see(shmem_uint64_g(&words[me], pe), word[pe], "word", pe);
            see(shmem_uint64_g(&signals[me], pe), signal[pe], "signal", pe);
        }
    }
    shmem_barrier_all();
    if (me == 0)
        puts("all right");
    shmem_finalize();
    return 0;
}
