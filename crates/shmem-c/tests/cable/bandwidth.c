/* How many bytes a second PE 0 puts to and gets from the last PE, 1 MiB at a time, several under way: bandwidth TIMES.
 * Prints two numbers: those of puts and of gets, in MB/s. What has arrived is compared. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 20, TOGETHER = 8 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    long times = argc > 1 ? atol(argv[1]) : 100;
    char *block = shmem_malloc(TOGETHER * BYTES), *local = malloc(TOGETHER * BYTES);
    if (!block || !local || last < 1)
        shmem_global_exit(2);
    for (int at = 0; at < TOGETHER * BYTES; at++)
        local[at] = (char)(at / 4093 + me);
    shmem_barrier_all();
    if (me == 0) {
        double rate[2];
        for (int get = 0; get < 2; get++) {
            /* The first round connects. */
            double start = 0;
            for (long time = -TOGETHER; time < times; time += TOGETHER) {
                if (time == 0)
                    start = now();
                for (int i = 0; i < TOGETHER; i++)
                    if (get)
                        shmem_getmem_nbi(local + (size_t)i * BYTES, block + (size_t)i * BYTES, BYTES, last);
                    else
                        shmem_putmem_nbi(block + (size_t)i * BYTES, local + (size_t)i * BYTES, BYTES, last);
                shmem_quiet();
            }
            rate[get] = (times + TOGETHER - 1) / TOGETHER * TOGETHER * (BYTES / 1e6) / (now() - start);
            if (!get)
                memset(local, 0, (size_t)TOGETHER * BYTES);
        }
        for (int at = 0; at < TOGETHER * BYTES; at++)
            if (local[at] != (char)(at / 4093)) {
                printf("WRONG: byte %d came back as %d\n", at, local[at]);
                shmem_global_exit(1);
            }
        printf("bandwidth %.1f %.1f\n", rate[0], rate[1]);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
