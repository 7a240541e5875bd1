/* shmem_test makes progress. */
#include "luck.h"
static long flag;
static void run(void)
{
    shmem_long_p(&flag, 3, (me + 1) % npes);
    while (!shmem_long_test(&flag, SHMEM_CMP_EQ, 3))
        ;
    EXPECT(flag, 3);
}
