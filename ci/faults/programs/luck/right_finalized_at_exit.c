/* The library is finalized at the end of the process, when the variables of its threads are gone already. Time passes before it, as where
 * an interpreter ends itself first. */
#define OWN_MAIN
#include "luck.h"
#include <time.h>
static long source[WORDS], dest[WORDS];
static void end(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&(struct timespec){0, now.tv_nsec % 15000000}, NULL);
    shmem_finalize();
}
int main(void)
{
    shmem_init();
    atexit(end);
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        source[i] = 100 * me + i;
    shmem_long_put_nbi(dest, source, WORDS, (me + 1) % npes);
    if (me % 2 == 0)
        return 0;
    shmem_quiet();
    return 0;
}
