/* A PE that polls its own memory by atomics sees what comes. */
#include "luck.h"
static long flag;
static void run(void)
{
    shmem_long_p(&flag, 3, (me + 1) % npes);
    while (shmem_long_atomic_fetch(&flag, me) != 3)
        ;
}
