/* After a quiet a get sees the put. */
#include "luck.h"
static long place;
int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    shmem_long_p(&place, 11 + me, next);
    shmem_quiet();
    EXPECT(shmem_long_g(&place, next), 11 + me);
    shmem_finalize();
}
