/* Private memory of all sizes is allocated and freed while PEs put and get: what one mapping held comes back in another one. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, ROUNDS = 60 };

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes(), next = (me + 1) % pes;
    unsigned char *shared = shmem_malloc(MOST);
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = (size_t)64 << (round % 17);
        unsigned char *source = malloc(bytes), *back = malloc(bytes), *other = calloc(1, bytes);
        memset(source, round + me, bytes);
        shmem_putmem(shared, source, bytes, next);
        shmem_quiet();
        free(source);
        source = realloc(NULL, bytes + 4096);
        memset(source, 0xff, bytes + 4096);
        shmem_getmem(back, shared, bytes, next);
        for (size_t i = 0; i < bytes; i++)
            wrong += back[i] != (unsigned char)(round + me) || other[i];
        free(other);
        free(back);
        free(source);
        shmem_barrier_all();
        for (size_t i = 0; i < bytes; i++)
            wrong += shared[i] != (unsigned char)(round + (me + pes - 1) % pes);
        shmem_barrier_all();
    }
    if (wrong)
        printf("WRONG: PE %d, %d bytes\n", me, wrong);
    else if (me == 0)
        printf("all right\n");
    shmem_free(shared);
    shmem_finalize();
    return wrong != 0;
}
