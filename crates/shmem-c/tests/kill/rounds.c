/* Puts and barriers for ever: what the kill tests kill. */
#include <shmem.h>

static long slots[64];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    char *block = shmem_malloc(1 << 20);
    for (long round = 0; block; round++) {
        shmem_long_p(&slots[me], round, (me + 1) % npes);
        shmem_putmem(block, block + (1 << 19), 1 << 12, (me + 1) % npes);
        shmem_barrier_all();
    }
    return 1;
}
