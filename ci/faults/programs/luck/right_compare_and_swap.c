/* One PE wins each word. */
#include "luck.h"
static int word[8], won;
static void run(void)
{
    for (int i = 0; i < 8; i++)
        if (shmem_int_atomic_compare_swap(&word[i], 0, 1 + me, 0) == 0)
            shmem_int_atomic_inc(&won, 0);
    shmem_barrier_all();
    if (me == 0)
        EXPECT(won, 8);
}
