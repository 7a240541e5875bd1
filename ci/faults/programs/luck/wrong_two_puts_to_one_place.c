/* Two puts to one place have no order without a fence. */
#include "luck.h"
static long place;
int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_long_p(&place, 1, (me + 1) % npes);
    shmem_long_p(&place, 2, (me + 1) % npes);
    shmem_barrier_all();
    EXPECT(place, 2);
    shmem_finalize();
}
