/* What the examples of the standard show, call by call: `standard.rs` does the same in safe Rust and prints the same. */

#include <shmem.h>
#include <stdio.h>

enum { MOST = 64 };

void standard(void);

static int me, n, right;

static void say(const char *what, const long *values, int count)
{
    printf("%s:", what);
    for (int i = 0; i < count; i++) printf(" %ld", values[i]);
    printf("\n");
}

static void transfers(void)
{
    static long word, dest[10], source[10];
    shmem_long_p(&word, 10 * me + 1, right);
    shmem_barrier_all();
    say("p", &word, 1);
    long theirs = shmem_long_g(&word, right);
    say("g", &theirs, 1);

    for (int i = 0; i < 10; i++) source[i] = 100 * me + i;
    shmem_long_put(dest, source, 10, right);
    shmem_barrier_all();
    say("put", dest, 10);
    long own[10];
    shmem_long_get(own, source, 10, right);
    say("get", own, 10);

    shmem_barrier_all();
    for (int i = 0; i < 10; i++) dest[i] = -1;
    shmem_barrier_all();
    shmem_long_iput(dest, source, 1, 2, 5, right);
    shmem_barrier_all();
    say("iput", dest, 10);
    long strided[10] = {0};
    shmem_long_iget(strided, source, 2, 3, 4, right);
    say("iget", strided, 10);

    shmem_barrier_all();
    for (int i = 0; i < 10; i++) dest[i] = -1;
    shmem_barrier_all();
    shmem_long_ibput(dest, source, 5, 3, 2, 2, right);
    shmem_barrier_all();
    say("ibput", dest, 10);

    shmem_barrier_all();
    shmem_long_put_nbi(dest, source, 5, right);
    shmem_long_get_nbi(own, source + 5, 5, right);
    shmem_quiet();
    shmem_barrier_all();
    say("put_nbi", dest, 5);
    say("get_nbi", own, 5);
    shmem_barrier_all();
}

static void atomics(void)
{
    static long counter, bits, swapped, results[MOST];
    shmem_long_atomic_set(&counter, 5, me);
    shmem_barrier_all();
    long seen = shmem_long_atomic_fetch(&counter, right);
    say("fetch", &seen, 1);
    shmem_barrier_all();
    shmem_long_atomic_inc(&counter, 0);
    shmem_long_atomic_add(&counter, me, 0);
    long before = shmem_long_atomic_fetch_inc(&counter, right) >= 5;
    before += shmem_long_atomic_fetch_add(&counter, 2, right) >= 6;
    say("fetch_inc and fetch_add", &before, 1);
    shmem_barrier_all();
    say("inc and add", &counter, 1);

    swapped = me;
    shmem_barrier_all();
    long taken = shmem_long_atomic_swap(&swapped, me + 100, right);
    shmem_barrier_all();
    say("swap", (long[]){taken, swapped}, 2);
    shmem_barrier_all();
    long first = shmem_long_atomic_compare_swap(&swapped, (right + n - 1) % n + 100, 7, right);
    shmem_barrier_all();
    say("compare_swap", (long[]){first, swapped}, 2);

    bits = 0;
    shmem_barrier_all();
    shmem_ulong_atomic_or((unsigned long *)&bits, 1ul << me, 0);
    shmem_barrier_all();
    say("or", &bits, 1);
    shmem_barrier_all();
    shmem_ulong_atomic_xor((unsigned long *)&bits, 3ul << me, 0);
    shmem_barrier_all();
    say("xor", &bits, 1);
    shmem_barrier_all();
    shmem_ulong_atomic_and((unsigned long *)&bits, ~(1ul << me), 0);
    shmem_barrier_all();
    say("and", &bits, 1);
    results[0] = (long)(shmem_ulong_atomic_fetch_or((unsigned long *)&bits, 0, 0));
    results[1] = (long)(shmem_ulong_atomic_fetch_xor((unsigned long *)&bits, 0, 0));
    results[2] = (long)(shmem_ulong_atomic_fetch_and((unsigned long *)&bits, ~0ul, 0));
    say("fetch_or, fetch_xor, fetch_and", results, 3);
    long later = -1;
    shmem_long_atomic_fetch_nbi(&later, &swapped, right);
    shmem_quiet();
    say("fetch_nbi", &later, 1);
    shmem_barrier_all();
}

static void waits(void)
{
    static long flags[MOST];
    static int status[MOST];
    for (int pe = 0; pe < n; pe++) shmem_long_p(&flags[me], me + 1, pe);
    long sum = 0;
    shmem_long_wait_until_all(flags, n, NULL, SHMEM_CMP_NE, 0);
    for (int found = 0; found < n; found++) {
        size_t i = shmem_long_wait_until_any(flags, n, status, SHMEM_CMP_GT, 0);
        status[i] = 1;
        sum += flags[i];
    }
    say("wait_until_any", &sum, 1);
    long values[MOST];
    size_t indices[MOST];
    for (int pe = 0; pe < n; pe++) values[pe] = pe + 1;
    shmem_long_wait_until_all_vector(flags, n, NULL, SHMEM_CMP_EQ, values);
    size_t some = shmem_long_wait_until_some(flags, n, indices, NULL, SHMEM_CMP_LE, 2);
    say("wait_until_some", (long[]){(long)some, (long)indices[0]}, 2);
    say("test", (long[]){shmem_long_test(&flags[0], SHMEM_CMP_EQ, 1), shmem_long_test_all(flags, n, NULL, SHMEM_CMP_GE, 2)}, 2);
    shmem_barrier_all();
}

static void signals(void)
{
    static uint64_t come;
    static long data[4];
    long own[4] = {me, me + 1, me + 2, me + 3};
    shmem_long_put_signal(data, own, 4, &come, 1, SHMEM_SIGNAL_ADD, right);
    uint64_t seen = shmem_signal_wait_until(&come, SHMEM_CMP_GE, 1);
    say("put_signal", (long[]){(long)seen, data[0], data[3]}, 3);
    shmem_barrier_all();
    shmem_signal_set(&come, 40, right);
    shmem_barrier_all();
    shmem_signal_add(&come, 2, right);
    shmem_barrier_all();
    say("signal_fetch", (long[]){(long)shmem_signal_fetch(&come)}, 1);
}

static void teams(void)
{
    static long from;
    shmem_team_t even = SHMEM_TEAM_INVALID, x, y;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even);
    if (even != SHMEM_TEAM_INVALID) {
        int mine = shmem_team_my_pe(even), size = shmem_team_n_pes(even);
        say("even", (long[]){mine, size, shmem_team_translate_pe(even, size - 1, SHMEM_TEAM_WORLD)}, 3);
        shmem_ctx_t context;
        shmem_team_create_ctx(even, 0, &context);
        shmem_ctx_long_p(context, &from, me, (mine + 1) % size);
        shmem_ctx_quiet(context);
        shmem_ctx_destroy(context);
        shmem_team_sync(even);
        say("context", &from, 1);
        shmem_team_destroy(even);
    }
    int width = n % 2 ? 1 : 2;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &x, NULL, 0, &y);
    say("split_2d", (long[]){shmem_team_my_pe(x), shmem_team_n_pes(x), shmem_team_my_pe(y), shmem_team_n_pes(y)}, 4);
    shmem_team_destroy(y);
    shmem_team_destroy(x);
}

static void collectives(void)
{
    static long source[2 * MOST], dest[2 * MOST];
    for (int i = 0; i < 2 * n; i++) source[i] = 1000 * me + i + 1;
    shmem_barrier_all();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, n - 1);
    say("broadcast", dest, 2);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, 1);
    say("fcollect", dest, n);
    shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, me % 2 + 1);
    say("collect", dest, n + n / 2);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 2);
    say("alltoall", dest, 2 * n);
    shmem_barrier_all();
    for (int i = 0; i < 2 * n; i++) dest[i] = -1;
    shmem_barrier_all();
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, 1);
    say("alltoalls", dest, 2 * n - 1);
#define REDUCE(name)                                                     \
    shmem_long_##name##_reduce(SHMEM_TEAM_WORLD, dest, source, 2);       \
    say(#name, dest, 2)
    REDUCE(max);
    REDUCE(min);
    REDUCE(sum);
    REDUCE(prod);
    static unsigned long bits, all;
    bits = 6ul << me;
    shmem_ulong_and_reduce(SHMEM_TEAM_WORLD, &all, &bits, 1);
    say("and", (long[]){(long)all}, 1);
    shmem_ulong_or_reduce(SHMEM_TEAM_WORLD, &all, &bits, 1);
    say("or", (long[]){(long)all}, 1);
    shmem_ulong_xor_reduce(SHMEM_TEAM_WORLD, &all, &bits, 1);
    say("xor", (long[]){(long)all}, 1);
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 2);
    say("sum_inscan", dest, 2);
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, 2);
    say("sum_exscan", dest, 2);
    shmem_barrier_all();
}

static void locks(void)
{
    static long lock, count;
    shmem_set_lock(&lock);
    shmem_long_p(&count, shmem_long_g(&count, 0) + me, 0);
    shmem_quiet();
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    say("lock", (long[]){shmem_long_g(&count, 0)}, 1);
    shmem_barrier_all();
}

void standard(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    right = (me + 1) % n;
    transfers();
    atomics();
    waits();
    signals();
    teams();
    collectives();
    locks();
    shmem_finalize();
}
