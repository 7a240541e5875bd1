/* A stencil in symmetric memory: what the detector costs. `PROGRAM CELLS STEPS` prints the processor's seconds and the peak of memory in
   KiB, those of PE 0. With OpenMP, the threads of each PE share its cells. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t arrived[2];

static long peak_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld", &kib);
    if (status)
        fclose(status);
    return kib;
}

int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided);
    long cells = argc > 1 ? atol(argv[1]) : 4096, steps = argc > 2 ? atol(argv[2]) : 100;
    int me = shmem_my_pe(), npes = shmem_n_pes(), left = (me + npes - 1) % npes, right = (me + 1) % npes;
    double *now = shmem_malloc((cells + 2) * sizeof(double)), *next = shmem_malloc((cells + 2) * sizeof(double));
    if (!now || !next)
        shmem_global_exit(1);
    for (long i = 0; i < cells + 2; i++)
        now[i] = next[i] = i == cells / 2 ? me : 0;
    shmem_barrier_all();
    for (long step = 1; step <= steps; step++) {
        shmem_double_put_signal(&now[cells + 1], &now[1], 1, &arrived[0], 1, SHMEM_SIGNAL_ADD, left);
        shmem_double_put_signal(&now[0], &now[cells], 1, &arrived[1], 1, SHMEM_SIGNAL_ADD, right);
        shmem_signal_wait_until(&arrived[0], SHMEM_CMP_GE, step);
        shmem_signal_wait_until(&arrived[1], SHMEM_CMP_GE, step);
#pragma omp parallel for
        for (long i = 1; i <= cells; i++)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        double *swap = now;
        now = next;
        next = swap;
        shmem_barrier_all();
    }
    if (me == 0)
        printf("%.3f %ld\n", (double)clock() / CLOCKS_PER_SEC, peak_kib());
    shmem_finalize();
    return 0;
}
