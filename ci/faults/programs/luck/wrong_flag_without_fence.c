/* A flag overtakes the data that it speaks of. */
#include "luck.h"
static long data[WORDS], flag;
int main(void)
{
    long source[WORDS];
    shmem_init();
    for (int i = 0; i < WORDS; i++)
        source[i] = 7 + i;
    if (shmem_my_pe() == 0) {
        shmem_long_put(data, source, WORDS, 1);
        shmem_long_p(&flag, 1, 1);
    } else if (shmem_my_pe() == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        for (int i = 0; i < WORDS; i++)
            EXPECT(data[i], 7 + i);
    }
    shmem_finalize();
}
