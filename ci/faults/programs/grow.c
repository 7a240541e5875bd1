/* One block that grows by realloc beyond the memory that there is: its contents stay, and everybody is told the same. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 256, MIB = 1 << 20 };
static int served[MOST];

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    size_t mib = 8;
    char *block = shmem_malloc(mib * MIB);
    memset(block, me + 1, mib * MIB);
    int refused = 0;
    for (int i = 0; i < 6; i++) {
        char *larger = shmem_realloc(block, 2 * mib * MIB);
        for (int pe = 0; pe < npes; pe++)
            shmem_int_p(&served[me], larger != NULL, pe);
        shmem_barrier_all();
        for (int pe = 0; pe < npes; pe++)
            if (served[pe] != (larger != NULL))
                printf("DIFFERENT: PE %d and PE %d\n", me, pe);
        refused += !larger;
        for (size_t at = 0; at < mib * MIB; at += 4096)
            if ((larger ? larger : block)[at] != me + 1)
                printf("WRONG: PE %d at %zu\n", me, at);
        if (larger) {
            block = larger;
            mib *= 2;
            memset(block, me + 1, mib * MIB);
        }
        shmem_barrier_all();
    }
    /* What was refused is as if nobody had asked. */
    void *small = shmem_malloc(4 * MIB);
    if (me == 0)
        printf("%d refused, then %s\n", refused, small ? "served" : "NULL");
    shmem_finalize();
    return 0;
}
