/* All destinations are ready before anybody puts. */
#include "luck.h"
static void run(void)
{
    long *inbox = shmem_malloc(sizeof(long));
    *inbox = 0;
    shmem_barrier_all();
    shmem_long_p(inbox, 5, (me + 1) % npes);
    (void)shmem_long_g(inbox, me);
    shmem_barrier_all();
    EXPECT(*inbox, 5);
    shmem_free(inbox);
}
