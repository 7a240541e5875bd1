/* How many bytes a second PE 0 puts to and gets from the last PE, 1 MiB at a time, several under way, and how many a broadcast and
 * a maximum of 1 MiB move: bandwidth TIMES. Prints four numbers, in MB/s. What has arrived is compared. */
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

static void wrong(const char *what, int at)
{
    printf("WRONG: %s at %d\n", what, at);
    shmem_global_exit(1);
}

/* MB/s of broadcasts, or of maxima. The first one connects and finds its way. */
static double collective(int maximum, long times, char *dest, char *source)
{
    const int me = shmem_my_pe();
    int *result = (int *)dest, *operand = (int *)source;
    for (int at = 0; at < BYTES / 4; at++)
        operand[at] = at % 2 == me % 2 ? at : -at;
    double start = 0;
    for (long time = -1; time < times; time++) {
        if (time == 0)
            start = now();
        if (maximum)
            shmem_int_max_reduce(SHMEM_TEAM_WORLD, result, operand, BYTES / 4);
        else
            shmem_int_broadcast(SHMEM_TEAM_WORLD, result, operand, BYTES / 4, 0);
    }
    shmem_barrier_all();
    const double rate = times * (BYTES / 1e6) / (now() - start);
    for (int at = 0; at < BYTES / 4; at++)
        if (result[at] != (maximum || at % 2 == 0 ? at : -at))
            wrong(maximum ? "a maximum" : "a broadcast", at);
    return rate;
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
    double rate[2];
    if (me == 0) {
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
            if (local[at] != (char)(at / 4093))
                wrong("a byte that has come back", at);
    }
    shmem_barrier_all();
    const double broadcast = collective(0, times, block, block + BYTES);
    const double maximum = collective(1, times, block, block + BYTES);
    if (me == 0)
        printf("bandwidth %.1f %.1f %.1f %.1f\n", rate[0], rate[1], broadcast, maximum);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
