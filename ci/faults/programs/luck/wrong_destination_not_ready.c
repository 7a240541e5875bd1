/* The destination is initialised when the put may have landed already. */
#include "luck.h"
int main(void)
{
    shmem_init();
    long *inbox = shmem_malloc(sizeof(long));
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_long_p(inbox, 5, (me + 1) % npes);
    (void)shmem_long_g(inbox, me);
    *inbox = 0;
    shmem_barrier_all();
    EXPECT(*inbox, 5);
    shmem_free(inbox);
    shmem_finalize();
}
