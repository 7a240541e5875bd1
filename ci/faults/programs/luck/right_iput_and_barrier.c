/* Strided puts and gets. */
#include "luck.h"
static long matrix[WORDS];
static void run(void)
{
    const int next = (me + 1) % npes;
    long column[4] = {me, me + 1, me + 2, me + 3}, back[4];
    shmem_long_iput(matrix, column, 8, 1, 4, next);
    shmem_barrier_all();
    shmem_long_iget(back, matrix, 1, 8, 4, next);
    for (int i = 0; i < 4; i++)
        EXPECT(back[i], me + i);
    shmem_barrier_all();
}
