/* A flag overtakes the data that it speaks of. */
#include "luck.h"
static long data[WORDS], flag;
static void run(void)
{
    long source[WORDS];
    for (int i = 0; i < WORDS; i++)
        source[i] = 7 + i;
    if (me == 0) {
        shmem_long_put(data, source, WORDS, 1);
        shmem_long_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        for (int i = 0; i < WORDS; i++)
            EXPECT(data[i], 7 + i);
    }
}
