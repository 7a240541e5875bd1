/* Programs that damage the symmetric heap or use blocks that are not theirs: `guards CASE`. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
#define IS(name) (strcmp(word, name) == 0)
    static char source[1024];
    shmem_init();
    int me = shmem_my_pe();
    char *block = shmem_malloc(400);
    char *neighbour = shmem_malloc(400);
    if (!block || !neighbour)
        return 1;
    if (IS("after") && me == 1)
        block[411] = 1;
    if (IS("before") && me == 1)
        neighbour[-4] = 1;
    if (IS("behind") && me == 1)
        memset(block + 400, 1, 28);
    if (IS("far_behind") && me == 1)
        memset(block + 400, 1, 70);
    if (IS("free_inside"))
        shmem_free(block + 4);
    if (IS("free_end"))
        shmem_free(block + 400);
    if (IS("resize_inside"))
        shmem_realloc(block + 4, 500);
    if (IS("free_twice")) {
        shmem_free(block);
        shmem_free(block);
    }
    if (IS("free_malloc"))
        shmem_free(malloc(40));
    if (IS("free_static"))
        shmem_free(source);
    if (IS("free_peer"))
        shmem_free(shmem_ptr(block, 1 - me));
    if (IS("free_behind"))
        shmem_free(neighbour + 4096);
    if (IS("put_peer"))
        shmem_putmem(shmem_ptr(block, 1 - me), source, 4, 1 - me);
    if (IS("put_peer_static"))
        shmem_putmem(shmem_ptr(source, 1 - me), block, 4, 1 - me);
    if (IS("put_after") && me == 0)
        shmem_putmem(block + 300, source, 112, 1);
    if (IS("put_zone") && me == 0)
        shmem_putmem(block + 412, source, 4, 1);
    if (IS("freed") || IS("put_freed") || IS("right")) {
        shmem_free(block);
        if (IS("freed") && me == 1)
            block[17] = 1;
        if (IS("put_freed") && me == 0)
            shmem_putmem(block, source, 4, 1);
    }
    if (IS("large")) {
        char *large = shmem_realloc(shmem_malloc((size_t)40 << 20), (size_t)50 << 20);
        puts(large ? "grown" : "refused");
        shmem_free(large);
    }
    if (IS("moved")) {
        char *moved = shmem_realloc(block, 500);
        if (me == 1)
            block[17] = 1;
        shmem_free(moved);
    }
    if (IS("right")) {
        neighbour = shmem_realloc(neighbour, 5000);
        memset(neighbour, 1, 5000);
        shmem_putmem(neighbour + 4000, source, 1000, 1 - me);
        shmem_free(neighbour);
        neighbour = NULL;
        for (int i = 0; i < 1000; i++) {
            char *other = shmem_align(256, (size_t)(i % 100 + 1) * 700);
            memset(other, 2, (size_t)(i % 100 + 1) * 700);
            shmem_free(other);
        }
    }
    shmem_barrier_all();
    if (me == 0)
        puts("done");
    shmem_finalize();
    return 0;
}
