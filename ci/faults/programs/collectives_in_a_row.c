/* Collectives of every length, one behind the other without a synchronisation between. Each has a destination of its own, and its
 * source changes as soon as the call is over. Every word is compared: collectives_in_a_row [ROUNDS [long]];
 * long ones go in pieces between nodes. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTHS = 9, LONG = 300000 };

static size_t lengths[LENGTHS] = {1, 7, 8, 40, 500, 1500, 6000, 20000, 70000};
static int all_lengths = LENGTHS;
static int me, npes;
static long calls;
static long *source, *room;
static double *operands;
static size_t used;

static long word(int pe, size_t i)
{
    return calls * 1000000L + pe * 100000L + (long)i;
}

static void wrong(const char *what, size_t n, size_t i, long seen, long expected)
{
    printf("PE %d: call %ld, %s of %zu words: word %zu is %ld, not %ld\n", me, calls, what, n, i, seen, expected);
    fflush(stdout);
    shmem_global_exit(1);
}

/* A part of the room that nobody has written since the last barrier. */
static long *fresh(size_t words)
{
    long *part = room + used;
    used += words;
    return part;
}

static void prepare(size_t words)
{
    calls++;
    for (size_t i = 0; i < words; i++)
        source[i] = word(me, i);
}

static void spoil(size_t words)
{
    for (size_t i = 0; i < words; i++)
        source[i] = -1;
}

static void one_length(size_t n, int root)
{
    long *dest = fresh(n);
    prepare(n);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, n);
    spoil(n);
    for (size_t i = 0; i < n; i++)
        if (dest[i] != word(npes - 1, i))
            wrong("maximum", n, i, dest[i], word(npes - 1, i));

    /* Directly behind it, so that both use what their runs keep. */
    dest = fresh(n);
    prepare(n);
    shmem_long_min_reduce(SHMEM_TEAM_WORLD, dest, source, n);
    spoil(n);
    for (size_t i = 0; i < n; i++)
        if (dest[i] != word(0, i))
            wrong("minimum", n, i, dest[i], word(0, i));

    calls++;
    for (size_t i = 0; i < n; i++)
        operands[i] = (double)(word(me, i) % 1000);
    double *sum = (double *)fresh(n);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, operands, n);
    for (size_t i = 0; i < n; i++)
        operands[i] = -1;
    for (size_t i = 0; i < n; i++) {
        double expected = 0;
        for (int pe = 0; pe < npes; pe++)
            expected += (double)(word(pe, i) % 1000);
        if (sum[i] != expected)
            wrong("sum", n, i, (long)sum[i], (long)expected);
    }

    dest = fresh(n);
    prepare(n);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root);
    spoil(n);
    for (size_t i = 0; i < n; i++)
        if (dest[i] != word(root, i))
            wrong("broadcast", n, i, dest[i], word(root, i));

    const size_t each = n / (size_t)npes + 1;
    dest = fresh(each * (size_t)npes);
    prepare(each);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, each);
    spoil(each);
    for (size_t i = 0; i < each * (size_t)npes; i++)
        if (dest[i] != word((int)(i / each), i % each))
            wrong("fcollect", each, i, dest[i], word((int)(i / each), i % each));

    dest = fresh(each * (size_t)npes);
    prepare(each * (size_t)npes);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, each);
    spoil(each * (size_t)npes);
    for (size_t i = 0; i < each * (size_t)npes; i++) {
        const long expected = word((int)(i / each), (size_t)me * each + i % each);
        if (dest[i] != expected)
            wrong("alltoall", each, i, dest[i], expected);
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 2;
    if (argc > 2) {
        all_lengths = 1;
        lengths[0] = LONG;
    }
    const size_t most = lengths[all_lengths - 1];
    shmem_init();
    me = shmem_my_pe(), npes = shmem_n_pes();
    size_t words = 0;
    for (int l = 0; l < all_lengths; l++)
        words += 3 * (6 * lengths[l] + 2 * (size_t)npes);
    source = shmem_malloc((most + 64) * sizeof(long));
    operands = shmem_malloc(most * sizeof(double));
    room = shmem_malloc(words * sizeof(long));
    if (!source || !operands || !room)
        shmem_global_exit(2);
    for (int round = 0; round < rounds; round++) {
        shmem_barrier_all();
        used = 0;
        /* Each length three times in a row, so that what takes turns has its turn again. */
        for (int l = 0; l < all_lengths; l++)
            for (int again = 0; again < 3; again++)
                one_length(lengths[l], (l + again) % npes);
    }
    shmem_barrier_all();
    shmem_finalize();
}
