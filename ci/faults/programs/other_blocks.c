/* PEs give back different blocks, then allocate: their heaps differ from then on. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    long *large = shmem_malloc(8192), *small = shmem_malloc(64);
    shmem_free(me > 0 ? large : small);
    long *next = shmem_malloc(64);
    printf("PE %d goes on with %p\n", me, (void *)next);
    shmem_finalize();
    return 0;
}
