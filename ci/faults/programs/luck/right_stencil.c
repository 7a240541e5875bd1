/* Halos by put with signal, in two buffers that take turns, acknowledged by the neighbour's next halo. */
#include "luck.h"
static long halo[2][2];
static uint64_t arrived[2];
static void run(void)
{
    const int left = (me + npes - 1) % npes, right = (me + 1) % npes;
    long mine = me;
    for (uint64_t turn = 1; turn <= 5; turn++) {
        const int half = turn % 2;
        shmem_long_put_signal(&halo[half][1], &mine, 1, &arrived[1], turn, SHMEM_SIGNAL_SET, left);
        shmem_long_put_signal(&halo[half][0], &mine, 1, &arrived[0], turn, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&arrived[0], SHMEM_CMP_GE, turn);
        shmem_signal_wait_until(&arrived[1], SHMEM_CMP_GE, turn);
        EXPECT(halo[half][0], left + 1000 * (long)(turn - 1));
        EXPECT(halo[half][1], right + 1000 * (long)(turn - 1));
        mine += 1000;
        shmem_quiet();
    }
}
