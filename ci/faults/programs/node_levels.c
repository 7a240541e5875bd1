/* Collectives whose results are known: usage node_levels ELEMENTS ROUNDS. Short and long ones, of teams and of active sets, with
 * every root in turn. Prints one line on PE 0; status 1: a result was wrong. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long psync[SHMEM_REDUCE_SYNC_SIZE], pwork[64];
static long small[2], greatest[2];
static double part, sum;
static int me, npes, wrong;

#define CHECK(CONDITION) ((CONDITION) ? (void)0 : failed(__LINE__, #CONDITION))

static void failed(int line, const char *what)
{
    wrong = 1;
    fprintf(stderr, "PE %d of %d, line %d: not true: %s\n", me, npes, line, what);
}

static double share(int pe, long i) { return 0.1 * (pe + 1) + (double)i * 1e7; }

/* The sum in team order: its bits do not depend on how the members lie. */
static double folded(long i)
{
    double all = share(0, i);
    for (int pe = 1; pe < npes; pe++) all += share(pe, i);
    return all;
}

static void brief(int round)
{
    small[0] = me + round;
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, greatest, small, 1);
    CHECK(greatest[0] == npes - 1 + round);
    shmem_long_max_to_all(greatest + 1, small, 1, 0, 0, npes, pwork, psync);
    CHECK(greatest[1] == npes - 1 + round);
    part = share(me, round);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1);
    CHECK(sum == folded(round));
    int root = round % npes;
    small[1] = me * 3;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, greatest, small + 1, 1, root);
    CHECK(greatest[0] == root * 3);
    shmem_barrier_all();
}

static void lengthy(int round, long *source, long *dest, long n)
{
    int root = round * 7 % npes, same = 1;
    for (long i = 0; i < n; i++) source[i] = i * (me + 1) + round;
    shmem_barrier_all();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, (size_t)n, root);
    for (long i = 0; i < n; i++) same &= dest[i] == i * (root + 1) + round;
    CHECK(same);
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, (size_t)n);
    for (long i = 0; i < n; i++) same &= dest[i] == i * ((long)npes * (npes + 1) / 2) + (long)round * npes;
    CHECK(same);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, source, source, (size_t)n);
    for (long i = 0; i < n; i++) same &= source[i] == i * npes + round;
    CHECK(same);
    double *shares = (double *)source, *sums = (double *)dest;
    for (long i = 0; i < n; i++) shares[i] = share(me, i);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, shares, (size_t)n);
    for (long i = 0; i < n; i += 97) same &= sums[i] == folded(i);
    CHECK(same);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    long *source = shmem_malloc((size_t)n * sizeof *source), *dest = shmem_malloc((size_t)n * sizeof *dest);
    for (int round = 0; round < rounds; round++) brief(round);
    for (int round = 0; round < 2; round++) lengthy(round, source, dest, n);
    if (me == 0) printf("%d PEs: every result is right\n", npes);
    shmem_finalize();
    return wrong;
}
