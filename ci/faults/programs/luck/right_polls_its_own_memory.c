/* A PE that polls its own memory by other calls than fetches sees what comes. */
#include "luck.h"
static long flag;
static uint64_t signal;
static void run(void)
{
    const int next = (me + 1) % npes;
    shmem_long_atomic_set(&flag, 3, next);
    shmem_long_put_signal(&flag, &flag, 0, &signal, 3, SHMEM_SIGNAL_SET, next);
    while (shmem_long_atomic_compare_swap(&flag, 3, 4, me) != 3)
        ;
    while (shmem_signal_fetch(&signal) != 3)
        ;
}
