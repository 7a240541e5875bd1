/* A ring of signals, maxima of four types, and a counter of all PEs, in memory of the symmetric heap: an emulator that has a thread of
 * its own lets no process share its static variables. */
#include <shmem.h>
#include <stdio.h>

enum { N = 100, ROUNDS = 50 };

static int wrong;

/* A message that grows on its way around the ring. */
static void ring(int me, int n)
{
    uint64_t *arrived = shmem_calloc(1, sizeof *arrived);
    long *message = shmem_calloc(1, sizeof *message);

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        long sum = 0;
        if (me != 0) {
            shmem_signal_wait_until(arrived, SHMEM_CMP_GE, round);
            sum = *message;
        }
        sum += me;
        shmem_putmem_signal(message, &sum, sizeof sum, arrived, 1, SHMEM_SIGNAL_ADD, (me + 1) % n);
        if (me == 0)
            shmem_signal_wait_until(arrived, SHMEM_CMP_GE, round);
    }
    wrong += me == 0 && *message != (long)n * (n - 1) / 2;
    shmem_free(message);
    shmem_free(arrived);
}

/* The largest element at each place, over all PEs. */
#define MAXIMA(NAME, TYPE)                                             \
    static void maxima_##NAME(int me, int n)                           \
    {                                                                  \
        TYPE *source = shmem_malloc(N * sizeof *source);               \
        TYPE *largest = shmem_malloc(N * sizeof *largest);             \
        for (int i = 0; i < N; i++)                                    \
            source[i] = (TYPE)((i * 31 + me * 17) % 127);              \
        shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, largest, source, N); \
        for (int i = 0; i < N; i++) {                                  \
            TYPE expected = 0;                                         \
            for (int pe = 0; pe < n; pe++) {                           \
                TYPE value = (TYPE)((i * 31 + pe * 17) % 127);         \
                expected = value > expected ? value : expected;        \
            }                                                          \
            wrong += largest[i] != expected;                           \
        }                                                              \
        shmem_free(largest);                                           \
        shmem_free(source);                                            \
    }

MAXIMA(schar, signed char)
MAXIMA(long, long)
MAXIMA(float, float)
MAXIMA(longdouble, long double)

/* Everybody counts at everybody. */
static void count(int n)
{
    long *counter = shmem_calloc(1, sizeof *counter);
    for (int i = 0; i < N; i++)
        shmem_long_atomic_inc(counter, i % n);
    shmem_barrier_all();
    long mine = *counter, *all = shmem_calloc(2, sizeof *all);
    all[0] = mine;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all[1], &all[0], 1);
    wrong += all[1] != (long)N * n;
    shmem_free(all);
    shmem_free(counter);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    ring(me, n);
    maxima_schar(me, n);
    maxima_long(me, n);
    maxima_float(me, n);
    maxima_longdouble(me, n);
    count(n);
    if (wrong) {
        printf("PE %d: %d results are wrong\n", me, wrong);
        shmem_global_exit(1);
    }
    if (me == 0)
        printf("ring, maxima and counter over %d PEs are right\n", n);
    shmem_finalize();
    return 0;
}
