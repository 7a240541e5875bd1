/* A collect whose second block lies behind 3 GiB of another PE. It takes 12 GiB of memory and two nodes. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const size_t far = (size_t)3 << 30, wrong = (size_t)1 << 30;
    shmem_init();
    const int me = shmem_my_pe();
    uint8_t *source = shmem_malloc(far), *dest = shmem_malloc(far + 8);
    if (source == NULL || dest == NULL) {
        printf("not run: no memory\n");
        shmem_global_exit(2);
    }
    memset(source, me == 0 ? 0x11 : 0x22, me == 0 ? far : 8);
    memset(dest + far, 0x33, 8);
    shmem_barrier_all();
    shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, me == 0 ? far : 8);
    if (dest[wrong] != 0x11 || dest[far] != 0x22) {
        printf("PE %d: byte 1 GiB is %#x, not 0x11; byte 3 GiB is %#x, not 0x22\n", me, dest[wrong], dest[far]);
        fflush(stdout);
        shmem_global_exit(1);
    }
    shmem_barrier_all();
    if (me == 0)
        printf("all right\n");
    shmem_finalize();
    return 0;
}
