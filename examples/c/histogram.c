/* Samples are counted in bins that are spread over all PEs: PE p has the bins from p * BINS on. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 64, SAMPLES = 50000 };

static long bins[BINS], counted, all;

/* A small generator, so that every run has the same samples. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    uint32_t state = 12345u + (uint32_t)me;

    for (int i = 0; i < SAMPLES; i++) {
        uint32_t bin = next(&state) % (uint32_t)(BINS * n);
        shmem_long_atomic_inc(&bins[bin % BINS], (int)(bin / BINS));
    }
    shmem_barrier_all(); /* all counts have arrived */

    for (int i = 0; i < BINS; i++)
        counted += bins[i];
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &counted, 1);
    if (all != (long)SAMPLES * n)
        shmem_global_exit(1);
    if (me == 0)
        printf("counted %ld samples in %d bins\n", all, BINS * n);
    shmem_finalize();
    return 0;
}
