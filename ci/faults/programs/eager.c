/* Collectives of all lengths around the limits between mail, eager and long ways, over the world, a split team and active
 * sets, with members that come late; every result is compared with what the members' numbers say. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 40000, TEAMS = 24, SYNC = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE
    + SHMEM_REDUCE_SYNC_SIZE };

static long psync[TEAMS][SYNC];
static double *source, *dest, *work;
static int me, npes, round_;
static char *bytes_in, *bytes_out;

static void wrong(const char *what, size_t n)
{
    printf("PE %d: %s of %zu elements is wrong in round %d\n", me, what, n, round_);
    fflush(stdout);
    shmem_global_exit(3);
}

/* Somebody is late now and then. */
static void linger(void)
{
    round_++;
    if (round_ % 7 == 0 && round_ / 7 % npes == me)
        usleep(300);
}

/* The value of a PE, whose sums depend on the order of the terms. */
static double value(int pe, size_t at)
{
    static const double scales[] = {1e-9, 1, 1e9, 1e3, 1e16, 1e-3, 1e6};
    const size_t mixed = ((size_t)pe * 7919 + at * 104729 + (size_t)round_ * 31) % 100003;
    return ((double)mixed / 7 - 7000) * scales[((size_t)pe * 5 + at) % 7];
}

static char octet(int pe, int to, size_t at)
{
    return (char)(pe * 31 + to * 17 + (int)at * 7 + round_);
}

/* The distance of members is a power of two; a negative stride: they are one apart, backwards. */
typedef struct { int start, stride, size, set; shmem_team_t team; } members;

static int world(const members *of, int member)
{
    return of->stride < 0 ? of->start - member : of->start + (member << of->stride);
}

static int my_place(const members *of)
{
    return of->stride < 0 ? of->start - me : (me - of->start) >> of->stride;
}

static void reductions(const members *of, size_t n, int in_place)
{
    double *from = in_place ? dest : source;
    for (int sum = 0; sum < 2; sum++) {
        linger();
        for (size_t i = 0; i < n; i++)
            from[i] = value(me, i);
        if (of->set >= 0 && sum)
            shmem_double_sum_to_all(dest, from, (int)n, of->start, of->stride, of->size, work, psync[of->set]);
        else if (of->set >= 0)
            shmem_double_max_to_all(dest, from, (int)n, of->start, of->stride, of->size, work, psync[of->set]);
        else if (sum)
            shmem_double_sum_reduce(of->team, dest, from, n);
        else
            shmem_double_max_reduce(of->team, dest, from, n);
        for (size_t i = 0; i < n; i++) {
            double expected = value(world(of, 0), i);
            for (int member = 1; member < of->size; member++) {
                const double next = value(world(of, member), i);
                expected = sum ? expected + next : next > expected ? next : expected;
            }
            /* The same bits at every length: folded in team order. */
            if (memcmp(&expected, &dest[i], sizeof expected))
                wrong(sum ? "a sum" : "a maximum", n);
        }
    }
    linger();
    int *ints = (int *)dest;
    for (size_t i = 0; i < n; i++)
        ints[i] = (int)((size_t)me * 1000 + i);
    if (of->set >= 0)
        shmem_int_sum_to_all(ints, ints, (int)n, of->start, of->stride, of->size, (int *)work, psync[of->set]);
    else
        shmem_int_sum_reduce(of->team, ints, ints, n);
    for (size_t i = 0; i < n; i++) {
        int expected = 0;
        for (int member = 0; member < of->size; member++)
            expected += (int)((size_t)world(of, member) * 1000 + i);
        if (ints[i] != expected)
            wrong("an integer sum", n);
    }
}

static void movements(const members *of, size_t n)
{
    const int my = my_place(of), set = of->set;
    const size_t words = n / 8;
    for (int root = 0; root < of->size; root++) {
        linger();
        memset(bytes_out, 99, 8 * words);
        for (size_t i = 0; i < 8 * words; i++)
            bytes_in[i] = octet(me, 0, i);
        if (set >= 0)
            shmem_broadcast64(bytes_out, bytes_in, words, root, of->start, of->stride, of->size, psync[set]);
        else
            shmem_broadcastmem(of->team, bytes_out, bytes_in, 8 * words, root);
        for (size_t i = 0; i < 8 * words; i++) {
            const char expected = set >= 0 && my == root ? 99 : octet(world(of, root), 0, i);
            if (bytes_out[i] != expected)
                wrong("a broadcast", 8 * words);
        }
    }
    linger();
    for (size_t i = 0; i < 8 * words; i++)
        bytes_in[i] = octet(me, 0, i);
    if (set >= 0)
        shmem_fcollect64(bytes_out, bytes_in, words, of->start, of->stride, of->size, psync[set]);
    else
        shmem_fcollectmem(of->team, bytes_out, bytes_in, 8 * words);
    for (int member = 0; member < of->size; member++)
        for (size_t i = 0; i < 8 * words; i++)
            if (bytes_out[(size_t)member * 8 * words + i] != octet(world(of, member), 0, i))
                wrong("an fcollect", words);
    linger();
    const size_t mine = words / (size_t)(my + 1);
    for (size_t i = 0; i < 8 * mine; i++)
        bytes_in[i] = octet(me, 0, i);
    if (set >= 0)
        shmem_collect64(bytes_out, bytes_in, mine, of->start, of->stride, of->size, psync[set]);
    else
        shmem_collectmem(of->team, bytes_out, bytes_in, 8 * mine);
    size_t at = 0;
    for (int member = 0; member < of->size; member++)
        for (size_t i = 0; i < words / (size_t)(member + 1) * 8; i++)
            if (bytes_out[at++] != octet(world(of, member), 0, i))
                wrong("a collect", words);
    linger();
    for (int to = 0; to < of->size; to++)
        for (size_t i = 0; i < 8 * words; i++)
            bytes_in[(size_t)to * 8 * words + i] = octet(me, to, i);
    if (set >= 0)
        shmem_alltoall64(bytes_out, bytes_in, words, of->start, of->stride, of->size, psync[set]);
    else
        shmem_alltoallmem(of->team, bytes_out, bytes_in, 8 * words);
    for (int from = 0; from < of->size; from++)
        for (size_t i = 0; i < 8 * words; i++)
            if (bytes_out[(size_t)from * 8 * words + i] != octet(world(of, from), my, i))
                wrong("an alltoall", words);
    linger();
    /* Elements that lie 2 apart at the source and 3 apart at the destination. */
    const size_t elements = words / 3;
    uint64_t *from_words = (uint64_t *)bytes_in, *to_words = (uint64_t *)bytes_out;
    memset(bytes_out, 99, 8 * 3 * elements * (size_t)of->size);
    for (size_t i = 0; i < elements * (size_t)of->size; i++)
        from_words[2 * i] = (uint64_t)me << 40 | (uint64_t)i << 8 | (uint64_t)(round_ & 255);
    if (set >= 0)
        shmem_alltoalls64(bytes_out, bytes_in, 3, 2, elements, of->start, of->stride, of->size, psync[set]);
    else
        shmem_uint64_alltoalls(of->team, to_words, from_words, 3, 2, elements);
    for (size_t i = 0; i < elements * (size_t)of->size; i++) {
        const size_t member = i / elements, sent = (size_t)my * elements + i % elements;
        const uint64_t expected = (uint64_t)world(of, (int)member) << 40 | (uint64_t)sent << 8 | (uint64_t)(round_ & 255);
        if (to_words[3 * i] != expected || (bytes_out[8 * (3 * i + 1)] != 99 && 3 * i + 1 < 3 * elements * (size_t)of->size))
            wrong("a strided alltoall", elements);
    }
}

/* Broadcasts without pause, whose root is ahead of the others; the root changes now and then. */
static void streams(const members *of)
{
    static const size_t lengths[] = {1, 125, 1000, 4000};
    const int my = my_place(of);
    for (int i = 0; i < 400; i++) {
        const int root = i / 150 % of->size;
        const size_t words = lengths[i / 3 % 4];
        if (my != root)
            linger();
        else
            round_++;
        for (size_t at = 0; my == root && at < words; at++)
            ((double *)bytes_in)[at] = value(i, at);
        if (of->set >= 0)
            shmem_broadcast64(bytes_out, bytes_in, words, root, of->start, of->stride, of->size, psync[of->set]);
        else
            shmem_broadcastmem(of->team, bytes_out, bytes_in, 8 * words, root);
        for (size_t at = 0; my != root && at < words; at++)
            if (((double *)bytes_out)[at] != value(i, at))
                wrong("a broadcast of a stream", words);
    }
}

static void all(const members *of, const size_t *lengths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        reductions(of, lengths[i], 0);
        reductions(of, lengths[i], 1);
        movements(of, 8 * lengths[i]);
        if (of->set >= 0)
            shmem_sync(of->start, of->stride, of->size, psync[of->set]);
        else
            shmem_team_sync(of->team);
    }
}

int main(void)
{
    static const size_t lengths[] = {1, 7, 8, 20, 37, 79, 100, 160, 1000, 4096, 4097, 8192, 8200, 12345, 20000, 32768,
        32801};
    static const size_t few[] = {600}, some[] = {1, 100, 4097, 12345, 32768};
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    for (int set = 0; set < TEAMS; set++)
        for (int i = 0; i < SYNC; i++)
            psync[set][i] = SHMEM_SYNC_VALUE;
    source = shmem_malloc(MOST * sizeof *source);
    dest = shmem_malloc(MOST * sizeof *dest);
    work = shmem_malloc(MOST * sizeof *work);
    bytes_in = shmem_malloc((size_t)MOST * 8 * (size_t)npes);
    bytes_out = shmem_malloc((size_t)MOST * 8 * (size_t)npes);
    shmem_barrier_all();

    const members everybody = {0, 0, npes, -1, SHMEM_TEAM_WORLD}, set = {0, 0, npes, 0, SHMEM_TEAM_INVALID};
    all(&everybody, lengths, sizeof lengths / sizeof *lengths);
    all(&set, lengths, sizeof lengths / sizeof *lengths);
    members backwards = {npes - 1, -1, npes, -1, SHMEM_TEAM_INVALID};
    shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, npes - me, &backwards.team);
    all(&backwards, some, sizeof some / sizeof *some);
    streams(&everybody);
    streams(&set);

    /* More teams and active sets than there is room for, twice: the first ones give it back. */
    for (int turn = 0; turn < 2; turn++) {
        members team[TEAMS];
        for (int i = 0; i < TEAMS; i++) {
            team[i] = (members){i % 2, 1, (npes + 1 - i % 2) / 2, -1, SHMEM_TEAM_INVALID};
            shmem_team_split_strided(SHMEM_TEAM_WORLD, i % 2, 2, team[i].size, NULL, 0, &team[i].team);
        }
        for (int i = 0; i < TEAMS; i++)
            if (team[i].team != SHMEM_TEAM_INVALID)
                all(&team[i], few, 1);
        for (int i = 0; i < TEAMS; i++)
            if (team[i].team != SHMEM_TEAM_INVALID)
                shmem_team_destroy(team[i].team);
        shmem_barrier_all();
        /* Teams of other sizes have made another number of calls. */
        round_ = 10000 * (turn + 1);
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < TEAMS; i++) {
            const members of = {0, 0, npes, i, SHMEM_TEAM_INVALID};
            all(&of, few, 1);
        }
    shmem_barrier_all();
    if (me == 0)
        printf("all right\n");
    shmem_finalize();
    return 0;
}
