/* The rows, and how they are measured: rounds of oxshmem's calls and of the bare library's in turns, and the medians of both. */
#include "beside.h"

static char *there, *here;
static uint64_t *counter;

static void put_short(void) { shmem_putmem(there, here, SHORT, 1), shmem_quiet(); }
static void put_long(void) { shmem_putmem(there, here, LONG, 1), shmem_quiet(); }
static void get_short(void) { shmem_getmem(here, there, SHORT, 1); }
static void get_long(void) { shmem_getmem(here, there, LONG, 1); }
static void fetch_add(void) { shmem_uint64_atomic_fetch_add(counter, 1, 1); }
static void puts_many(void)
{
    for (int put = 0; put < MANY; put++)
        shmem_putmem_nbi(there, here, SHORT, 1);
    shmem_quiet();
}

static void bare_put_short(void) { bare.put(SHORT); }
static void bare_put_long(void) { bare.put(LONG); }
static void bare_get_short(void) { bare.get(SHORT); }
static void bare_get_long(void) { bare.get(LONG); }
static void bare_fetch_add(void) { bare.fetch_add(); }
static void bare_puts_many(void) { bare.puts(MANY, SHORT); }

static const struct row {
    const char *what;
    void (*ours)(void), (*bare)(void);
    /* Operations of one call. */
    int count;
} ROWS[] = {
    {"put of 8 B, quiet", put_short, bare_put_short, 1},
    {"put of 4 KiB, quiet", put_long, bare_put_long, 1},
    {"get of 8 B", get_short, bare_get_short, 1},
    {"get of 4 KiB", get_long, bare_get_long, 1},
    {"fetch_add", fetch_add, bare_fetch_add, 1},
    {"put_nbi of 8 B, rate", puts_many, bare_puts_many, MANY},
};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double timed(void (*call)(void), int calls)
{
    double begun = microseconds();
    for (int done = 0; done < calls; done++)
        call();
    return (microseconds() - begun) / calls;
}

static int later(const void *one, const void *two)
{
    double difference = *(const double *)one - *(const double *)two;
    return (difference > 0) - (difference < 0);
}

/* `beside [ROUNDS [CALLS]]`: so many rounds of each, and so many calls in each. */
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 21, calls = argc > 2 ? atoi(argv[2]) : 20;
    static int over;
    shmem_init();
    if (shmem_n_pes() != 2 || rounds < 1 || calls < 1) {
        printf("2 PEs, and one round and call or more are wanted\n");
        shmem_global_exit(1);
    }
    there = shmem_calloc(1, 2 * LONG);
    here = shmem_calloc(1, LONG);
    counter = (uint64_t *)(there + LONG);
    bare.open(there, 2 * LONG);
    shmem_barrier_all();
    if (shmem_my_pe() == 1) {
        while (!shmem_test(&over, SHMEM_CMP_NE, 0))
            bare.progress();
    } else {
        double *ours = calloc(rounds, sizeof *ours), *others = calloc(rounds, sizeof *others);
        printf("%-24s %12s %12s %8s\n", bare.name, "oxshmem us", "bare us", "ratio");
        for (const struct row *row = ROWS; row < ROWS + sizeof ROWS / sizeof *ROWS; row++) {
            timed(row->ours, calls), timed(row->bare, calls);
            for (int round = 0; round < rounds; round++) {
                /* The one that goes first changes. */
                if (round % 2)
                    others[round] = timed(row->bare, calls);
                ours[round] = timed(row->ours, calls);
                if (round % 2 == 0)
                    others[round] = timed(row->bare, calls);
            }
            qsort(ours, rounds, sizeof *ours, later);
            qsort(others, rounds, sizeof *others, later);
            double mine = ours[rounds / 2] / row->count, theirs = others[rounds / 2] / row->count;
            printf("%-24s %12.2f %12.2f %8.2f\n", row->what, mine, theirs, mine / theirs);
        }
        free(ours), free(others);
        shmem_int_p(&over, 1, 1);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
