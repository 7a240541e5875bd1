/* Strided puts and gets between two PEs, of few and many blocks, of all element sizes and distances: every element arrives at its place, and
 * nothing between them is touched. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 3 << 20, HALF = BYTES / 2 };

static unsigned char *far_away, *mine, *expected;
static int me, other;

static unsigned char value_at(size_t byte, int pe) { return (unsigned char)(byte * 7 + byte / 251 + 13 * (size_t)pe + 1); }

static void fill(unsigned char *array, int pe)
{
    for (size_t i = 0; i < BYTES; i++) array[i] = value_at(i, pe);
}

/* The transfer as the standard has it: block i of `from` to block i of `to`. */
static void by_hand(unsigned char *to, const unsigned char *from, long to_apart, long from_apart, size_t block, size_t count)
{
    for (size_t i = 0; i < count; i++) memcpy(to + (long)i * to_apart, from + (long)i * from_apart, block);
}

static void transfer(int gets, size_t size, void *to, const void *from, long dst, long sst, size_t block, size_t count)
{
    const ptrdiff_t d = dst, s = sst;
#define CALL(bits) \
    if (block == 1 && gets) shmem_iget##bits(to, from, d, s, count, other); \
    else if (block == 1) shmem_iput##bits(to, from, d, s, count, other); \
    else if (gets) shmem_ibget##bits(to, from, d, s, block, count, other); \
    else shmem_ibput##bits(to, from, d, s, block, count, other)
    switch (size) {
    case 1: CALL(8); break;
    case 2: CALL(16); break;
    case 4: CALL(32); break;
    case 8: CALL(64); break;
    default: CALL(128);
    }
}

static void check(int gets, size_t size, long dst, long sst, size_t block, size_t count)
{
    const size_t most = labs(dst) > labs(sst) ? (size_t)labs(dst) : (size_t)labs(sst);
    if (((count - 1) * (most > block ? most : block) + block) * size > HALF) return;
    /* Arrays with negative strides reach back from the middle. */
    unsigned char *to = (gets ? mine : far_away) + HALF, *from = (gets ? far_away : mine) + HALF;
    fill(far_away, me);
    fill(mine, me + 2);
    shmem_barrier_all();
    if (me == 0) transfer(gets, size, to, from, dst, sst, block, count);
    shmem_barrier_all();
    if (me == gets) goto out; /* The PE whose memory was written looks. */
    const int writer = gets ? 1 : 0;
    unsigned char *source = malloc(BYTES);
    fill(source, gets ? writer : 2);
    fill(expected, gets ? 2 : 1);
    by_hand(expected + HALF, source + HALF, dst * (long)size, sst * (long)size, block * size, count);
    free(source);
    if (memcmp(expected, gets ? mine : far_away, BYTES) != 0) {
        printf("%s: %zu blocks of %zu elements of %zu bytes, dst %ld, sst %ld\n", gets ? "get" : "put", count, block, size, dst, sst);
        shmem_global_exit(3);
    }
out:
    shmem_barrier_all();
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16}, counts[] = {1, 2, 3, 100, 5000, 40000}, blocks[] = {1, 3, 80};
    static const long strides[] = {1, 2, 3, 11, 100, -1, -2};
    shmem_init();
    me = shmem_my_pe();
    other = 1 - me;
    far_away = shmem_malloc(BYTES);
    mine = shmem_malloc(BYTES);
    expected = malloc(BYTES);
    int number = 0;
    for (int gets = 0; gets < 2; gets++)
        for (size_t size = 0; size < 5; size++)
            for (size_t count = 0; count < 6; count++)
                for (size_t block = 0; block < 3; block++)
                    for (size_t d = 0; d < 7; d++)
                        for (size_t s = 0; s < 7; s++) {
                            long dst = strides[d], sst = strides[s];
                            /* Blocks follow each other, or have gaps. Blocks do not overlap. */
                            if (block > 0 && dst > 0) dst += (long)blocks[block] - 1;
                            if (block > 0 && sst > 0) sst += (long)blocks[block] - 1;
                            if (block > 0 && (dst < 0 || sst < 0)) continue;
                            if (number++ % 5 == 0) check(gets, sizes[size], dst, sst, blocks[block], counts[count]);
                        }
    if (me == 0) puts("all right");
    shmem_finalize();
    return 0;
}
