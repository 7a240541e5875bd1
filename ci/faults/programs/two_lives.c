/* The library is initialised twice. The heap of the first life has a mebibyte in use, that of the second one a few bytes. */
#include <shmem.h>

static int use_heap(size_t bytes)
{
    char *block;

    shmem_init();
    block = shmem_malloc(bytes);
    if (block)
        shmem_free(block);
    shmem_finalize();
    return block != NULL;
}

int main(void)
{
    const int large = use_heap((size_t)1 << 20), small = use_heap(64);
    return !(large && small);
}
