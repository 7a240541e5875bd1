/* What the model of `oxshmem simulate --calibrate` needs to know, and what it predicts, measured on the PEs that this
 * is started with. PE 0 prints one "name nanoseconds" pair a line: of a put (o), between puts (g), of a signal's way
 * (half), of a byte (G), of a barrier and of an 8-byte maximum. Each is the least and the median of several batches. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Many short batches: on a busy machine some of them find all PEs running. */
enum { BATCHES = 401, BLOCK = 64 << 10 };

static long ball, source, result;
static char block[BLOCK], into[BLOCK];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs batches of `work` and prints the time of one of its `pieces`. */
static void measure(const char *name, void (*work)(int), int times, double pieces)
{
    double batches[BATCHES];
    work(times);
    for (int i = 0; i < BATCHES; i++) {
        shmem_barrier_all();
        double start = now();
        work(times);
        batches[i] = (now() - start) / times / pieces;
    }
    qsort(batches, BATCHES, sizeof *batches, by_size);
    if (shmem_my_pe() == 0) printf("%s %.4f %.4f\n", name, batches[0], batches[BATCHES / 2]);
}

/* PE 0 puts to PE 1, which looks on. */
static void puts_of_a_word(int times)
{
    if (shmem_my_pe() == 0)
        for (int i = 0; i < times; i++) shmem_long_p(&result, i, 1);
}

static void puts_of_a_block(int times)
{
    if (shmem_my_pe() == 0)
        for (int i = 0; i < times; i++) shmem_putmem(into, block, BLOCK, 1);
}

/* There and back between PEs 0 and 1. */
static void ping_pong(int times)
{
    static long round;
    int me = shmem_my_pe();
    for (int i = 0; i < times && me < 2; i++) {
        round++;
        if (me == 0) shmem_long_p(&ball, round, 1);
        shmem_long_wait_until(&ball, SHMEM_CMP_GE, round);
        if (me == 1) shmem_long_p(&ball, round, 0);
    }
}

static void barriers(int times)
{
    for (int i = 0; i < times; i++) shmem_barrier_all();
}

static void maxima(int times)
{
    for (int i = 0; i < times; i++) shmem_long_max_reduce(SHMEM_TEAM_WORLD, &result, &source, 1);
}

int main(void)
{
    shmem_init();
    source = shmem_my_pe();
    if (shmem_n_pes() == 2) {
        measure("put", puts_of_a_word, 1000, 1);
        measure("half", ping_pong, 100, 2);
        measure("byte", puts_of_a_block, 10, BLOCK);
    }
    measure("barrier", barriers, 100, 1);
    measure("max", maxima, 100, 1);
    shmem_finalize();
    return 0;
}
