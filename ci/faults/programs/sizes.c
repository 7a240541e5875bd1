/* Allocations that no heap can satisfy return NULL on all PEs: the argument is the call. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc < 2) return 3;
    shmem_init();
    void *block = NULL;
    void *old = shmem_malloc(8);
    if (strcmp(argv[1], "malloc") == 0) block = shmem_malloc((size_t)-8);
    else if (strcmp(argv[1], "calloc") == 0) block = shmem_calloc((size_t)1 << 40, (size_t)1 << 40);
    else if (strcmp(argv[1], "align") == 0) block = shmem_align(64, (size_t)-8);
    else if (strcmp(argv[1], "realloc") == 0) block = shmem_realloc(old, (size_t)-8);
    else if (strcmp(argv[1], "alignment") == 0) block = shmem_align((size_t)1 << 63, 8);
    else if (strcmp(argv[1], "alignment_24") == 0) block = shmem_align(24, 8);
    else if (strcmp(argv[1], "alignment_full") == 0) {
        old = shmem_align(1 << 20, 8); /* the only free multiple of 1 MiB in a heap of that size, which has a little more */
        block = shmem_align(1 << 20, 8);
    }
    printf("%s\n", block == NULL ? "null" : "memory");
    /* The heap is as good as before. */
    long *good = shmem_malloc(sizeof *good);
    if (good == NULL) return 1;
    shmem_long_p(good, 7, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    int wrong = *good != 7;
    shmem_finalize();
    return wrong;
}
