/* Allocates blocks of the sizes that the arguments name, in bytes, on all PEs. Says for each whether it was served, uses
 * every byte of what was, frees it, and says so if the PEs were told different things. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };
static int served[MOST];

int main(int argc, char **argv)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    for (int i = 1; i < argc; i++) {
        const size_t bytes = strtoull(argv[i], NULL, 0);
        char *block = shmem_malloc(bytes);
        for (int pe = 0; pe < npes; pe++)
            shmem_int_p(&served[me], block != NULL, pe);
        shmem_barrier_all();
        for (int pe = 0; pe < npes; pe++)
            if (served[pe] != (block != NULL))
                printf("DIFFERENT: %zu bytes on PE %d and PE %d\n", bytes, me, pe);
        if (block) {
            memset(block, i, bytes);
            shmem_barrier_all();
            const volatile char *next = shmem_ptr(block, (me + 1) % npes);
            for (size_t at = 0; next && at < bytes; at += 4096)
                if (next[at] != (char)i) {
                    printf("WRONG: byte %zu on PE %d\n", at, (me + 1) % npes);
                    break;
                }
        }
        if (me == 0)
            printf("%zu %s\n", bytes, block ? "served" : "NULL");
        shmem_free(block);
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
