/* How far each PE is from each other one, for `oxshmem doctor`: a get of one word. */
#include "bench.h"

#include <stdio.h>

static long *word, seen;
static int to;

static void renew(unsigned seed)
{
    *word = (long)seed * 1000 + me;
    seen = -1;
}

static void get(long n)
{
    for (long i = 0; i < n && me == timed_pe; i++)
        seen = shmem_long_g(word, to);
}

static int arrived(unsigned seed, long n) { return (void)n, me != timed_pe || seen == (long)seed * 1000 + to; }

void distances(void)
{
    char form[64];
    word = symmetric(sizeof *word);
    for (timed_pe = 0; timed_pe < npes; timed_pe++)
        for (to = timed_pe + 1; to < npes; to++) {
            snprintf(form, sizeof form, "%d from %d", timed_pe, to);
            measure(&(struct row){"distance", form, 8, ONE, get, 1, renew, arrived, 0, 1});
        }
}
