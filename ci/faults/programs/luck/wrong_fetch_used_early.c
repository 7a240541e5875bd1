/* A nonblocking fetch delivers its value at a quiet. */
#include "luck.h"
static long counter = 17;
int main(void)
{
    long old = 0;
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_barrier_all();
    shmem_long_atomic_fetch_add_nbi(&old, &counter, 1, (me + 1) % npes);
    EXPECT(old, 17);
    shmem_quiet();
    shmem_finalize();
}
