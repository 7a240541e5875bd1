/* A quiet completes operations to all PEs, so that PE 1 may speak of the data of PE 2. */
#include "luck.h"
static long data, told;
static void run(void)
{
    if (me == 0) {
        shmem_long_p(&data, 21, 2);
        shmem_quiet();
        shmem_long_p(&told, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&told, SHMEM_CMP_EQ, 1);
        shmem_long_p(&told, 1, 2);
    } else if (me == 2) {
        shmem_long_wait_until(&told, SHMEM_CMP_EQ, 1);
        EXPECT(data, 21);
    }
}
