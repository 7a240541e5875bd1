/* The destination is initialised when the put may have landed already. */
#include "luck.h"
static void run(void)
{
    long *inbox = shmem_malloc(sizeof(long));
    shmem_long_p(inbox, 5, (me + 1) % npes);
    (void)shmem_long_g(inbox, me);
    *inbox = 0;
    shmem_barrier_all();
    EXPECT(*inbox, 5);
    shmem_free(inbox);
}
