/* The symmetric heap. */
#include "places.h"

static long arrived[64], flag;

/* What every PE does just before a call that has to contain a barrier: after the call everybody's message is here. */
static void arrive(long round)
{
    if (me == round % npes)
        dawdle(5);
    for (int pe = 0; pe < npes; pe++)
        shmem_long_p(&arrived[me], round, pe);
}

static void check_arrived(long round)
{
    for (int pe = 0; pe < npes; pe++)
        CHECK(arrived[pe] >= round);
}

TEST(HEAP_1, "the same calls in the same order give usable objects on all PEs", .also = "HEAP-12")
{
    enum { OBJECTS = 40, STEPS = 2000 };
    struct { unsigned char *bytes; size_t size; } objects[OBJECTS] = {{0}};
    uint64_t random = 12345;
    for (int step = 0; step < STEPS; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int which = (int)((random >> 33) % OBJECTS);
        if (objects[which].bytes) {
            CHECK(is_pattern(objects[which].bytes, objects[which].size, (unsigned)(which + 100 * left_pe())));
            shmem_free(objects[which].bytes);
            objects[which].bytes = NULL;
        } else {
            size_t size = objects[which].size = 1 + (random >> 40) % 5000;
            unsigned char source[5000];
            objects[which].bytes = shmem_malloc(size);
            REQUIRE(objects[which].bytes);
            fill(source, size, (unsigned)(which + 100 * me));
            shmem_putmem(objects[which].bytes, source, size, right_pe());
            if (step % 7 == 0)
                shmem_barrier_all();
        }
        shmem_barrier_all();
    }
}

/* PE 0 alone calls; the others reach the barrier only after PE 0 has told them that the calls have returned. */
TEST(HEAP_2, "size zero gives NULL and has no barrier")
{
    if (me == 0) {
        CHECK(shmem_malloc(0) == NULL);
        CHECK(shmem_calloc(0, 8) == NULL);
        CHECK(shmem_calloc(8, 0) == NULL);
        CHECK(shmem_align(64, 0) == NULL);
        CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
        CHECK(shmem_realloc(NULL, 0) == NULL);
        for (int pe = 0; pe < npes; pe++)
            shmem_long_p(&flag, 1, pe);
    }
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

TEST(HEAP_3, "an allocation ends with a barrier, a failed one too")
{
    static const size_t too_much = (size_t)1 << 46;
    void *block = NULL;
    for (long round = 1; round <= 12; round++) {
        arrive(round);
        switch (round % 6) {
        case 0: block = shmem_malloc(100); break;
        case 1: block = shmem_calloc(10, 10); break;
        case 2: block = shmem_align(256, 100); break;
        case 3: block = shmem_malloc_with_hints(100, SHMEM_MALLOC_SIGNAL_REMOTE); break;
        case 4: block = shmem_realloc(block, 200); break;
        case 5: CHECK(shmem_malloc(too_much) == NULL); break;
        }
        check_arrived(round);
        CHECK(block);
    }
}

TEST(HEAP_3_use, "a peer may put into a new block at once")
{
    for (long round = 0; round < 200; round++) {
        long *block = shmem_malloc(sizeof *block);
        REQUIRE(block);
        shmem_long_p(block, round + me, right_pe());
        shmem_barrier_all();
        CHECK_EQ(*block, round + left_pe());
        shmem_free(block);
    }
}

TEST(HEAP_4, "free begins with a barrier that completes the default context")
{
    for (long round = 1; round <= 20; round++) {
        long *block = shmem_malloc(sizeof *block);
        arrive(round);
        shmem_free(block);
        check_arrived(round);
    }
}

TEST(HEAP_4_null, "free of NULL does nothing and has no barrier")
{
    if (me == 0) {
        shmem_free(NULL);
        for (int pe = 0; pe < npes; pe++)
            shmem_long_p(&flag, 1, pe);
    }
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

TEST(HEAP_4_twice, "freeing a block twice ends with a message", .aborts = 1, .says = "shmem_free")
{
    void *block = shmem_malloc(100), *guard = shmem_malloc(100);
    CHECK(guard);
    shmem_free(block);
    shmem_free(block);
}

TEST(HEAP_4_inside, "freeing a pointer inside a block ends with a message", .aborts = 1, .says = "shmem_free")
{
    char *block = shmem_malloc(100);
    shmem_free(block + 16);
}

TEST(HEAP_4_foreign, "freeing memory of another allocator ends with a message", .aborts = 1, .says = "shmem_free")
{
    void *block = malloc(100);
    shmem_free(block);
}

TEST(HEAP_5, "failure gives NULL on all PEs and leaves the heap usable", .env = "SHMEM_SYMMETRIC_SIZE=8M")
{
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, (size_t)1 << 40, 9u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK(shmem_malloc(sizes[i]) == NULL);
        CHECK(shmem_align(4096, sizes[i]) == NULL);
        CHECK(shmem_calloc(1, sizes[i]) == NULL);
    }
    void *block = shmem_malloc(8u << 20);
    CHECK(block);
    CHECK(shmem_malloc(64) == NULL);
    shmem_free(block);
    CHECK(shmem_malloc(64));
}

TEST(HEAP_6, "blocks suit every type, and shmem_align gives every power of two")
{
    for (size_t size = 1; size < 200; size += 13)
        CHECK_EQ((uintptr_t)shmem_malloc(size) % 16, 0);
    for (size_t alignment = 2; alignment <= 1u << 16; alignment *= 2)
        for (size_t size = 1; size < 100; size += 33) {
            unsigned char *block = shmem_align(alignment, size);
            REQUIRE(block);
            CHECK_EQ((uintptr_t)block % alignment, 0);
            memset(block, 7, size);
        }
}

TEST(HEAP_7, "calloc has zeroed the block on every PE before any PE returns", .env = "SHMEM_SYMMETRIC_SIZE=8M")
{
    enum { SIZE = 1 << 20 };
    unsigned char *copy = malloc(SIZE);
    for (int round = 0; round < 10; round++) {
        unsigned char *dirty = shmem_malloc(SIZE);
        REQUIRE(dirty);
        memset(dirty, 0xFF, SIZE);
        shmem_free(dirty);
        if (me == round % npes)
            dawdle(3);
        unsigned char *zeroed = shmem_calloc(SIZE / 16, 16);
        REQUIRE(zeroed);
        for (int pe = 0; pe < npes; pe++) {
            shmem_getmem(copy, zeroed, SIZE, pe);
            CHECK(is_all(copy, SIZE, 0));
        }
        shmem_free(zeroed);
    }
    free(copy);
}

TEST(HEAP_7_overflow, "calloc notices a product that overflows")
{
    CHECK(shmem_calloc(SIZE_MAX / 2, 4) == NULL);
    CHECK(shmem_calloc((size_t)1 << 33, (size_t)1 << 33) == NULL);
    CHECK(shmem_calloc(3, SIZE_MAX / 3 + 1) == NULL);
    CHECK(shmem_calloc(4, 4));
}

TEST(HEAP_8, "realloc keeps the contents up to the smaller size")
{
    unsigned char *block = shmem_realloc(NULL, 100);
    REQUIRE(block);
    size_t size = 100;
    fill(block, size, me);
    const size_t sizes[] = {50, 4000, 4001, 100000, 3, 1u << 20, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *wall = i % 2 ? shmem_malloc(32) : NULL; /* forces the next growth to move */
        size_t kept = size < sizes[i] ? size : sizes[i];
        block = shmem_realloc(block, sizes[i]);
        REQUIRE(block);
        CHECK(is_pattern(block, kept, me));
        size = sizes[i];
        fill(block, size, me);
        shmem_barrier_all();
        unsigned char *copy = malloc(size);
        shmem_getmem(copy, block, size, right_pe());
        CHECK(is_pattern(copy, size, right_pe()));
        free(copy);
        shmem_barrier_all();
        shmem_free(wall);
    }
    CHECK(shmem_realloc(block, 0) == NULL);
}

TEST(HEAP_8_failure, "a failed realloc leaves the old block as it was", .env = "SHMEM_SYMMETRIC_SIZE=4M")
{
    unsigned char *block = shmem_malloc(1000);
    REQUIRE(block);
    fill(block, 1000, me);
    CHECK(shmem_realloc(block, (size_t)1 << 40) == NULL);
    CHECK(shmem_realloc(block, SIZE_MAX) == NULL);
    CHECK(is_pattern(block, 1000, me));
    shmem_free(block);
}

TEST(HEAP_8_barriers, "realloc contains barriers, and size zero frees")
{
    void *block = shmem_malloc(100);
    arrive(1);
    block = shmem_realloc(block, 100000);
    check_arrived(1);
    arrive(2);
    CHECK(shmem_realloc(block, 0) == NULL);
    check_arrived(2);
}

TEST(HEAP_8_foreign, "realloc of memory of another allocator ends with a message", .aborts = 1, .says = "shmem_realloc")
{
    CHECK(shmem_realloc(malloc(100), 200) == NULL);
}

TEST(HEAP_9, "hints only tune, unknown ones too")
{
    const long hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                          SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE, 1L << 40, -1};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        long *block = shmem_malloc_with_hints(1000, hints[i]);
        REQUIRE(block);
        *block = 0;
        shmem_barrier_all();
        shmem_long_atomic_add(block, 2, right_pe());
        shmem_barrier_all();
        CHECK_EQ(*block, 2);
        block = shmem_realloc(block, 100000);
        CHECK(block && *block == 2);
        shmem_free(block);
    }
    CHECK((SHMEM_MALLOC_ATOMICS_REMOTE & SHMEM_MALLOC_SIGNAL_REMOTE) == 0);
}

TEST(HEAP_10, "the barrier in a heap call completes the default context")
{
    static long target[64];
    const long value = 100 + me;
    for (int pe = 0; pe < npes; pe++)
        shmem_long_put_nbi(&target[me], &value, 1, pe);
    void *block = shmem_malloc(8);
    for (int pe = 0; pe < npes; pe++)
        CHECK_EQ(target[pe], 100 + pe);
    shmem_free(block);
}

/* The whole amount that was asked for can be had in one block. */
static void check_size(size_t size)
{
    char *block = shmem_malloc(size);
    REQUIRE(block);
    block[0] = block[size - 1] = (char)(me + 1);
    shmem_barrier_all();
    CHECK_EQ(shmem_char_g(&block[size - 1], right_pe()), right_pe() + 1);
    shmem_free(block);
}

#define SIZE_CASE(SUFFIX, ENVIRONMENT, BYTES)                                                                   \
    TEST(HEAP_11_##SUFFIX, "the heap gives what was asked for: " ENVIRONMENT, .env = ENVIRONMENT)               \
    {                                                                                                           \
        check_size(BYTES);                                                                                      \
        CHECK(shmem_malloc((size_t)1 << 42) == NULL);                                                           \
    }

SIZE_CASE(plain, "SHMEM_SYMMETRIC_SIZE=1000000", 1000000)
SIZE_CASE(k, "SHMEM_SYMMETRIC_SIZE=512k", 512u << 10)
SIZE_CASE(upper_k, "SHMEM_SYMMETRIC_SIZE=512KiB", 512u << 10)
SIZE_CASE(m, "SHMEM_SYMMETRIC_SIZE=3m", 3u << 20)
SIZE_CASE(dot, "SHMEM_SYMMETRIC_SIZE=.5m", 512u << 10)
SIZE_CASE(fraction, "SHMEM_SYMMETRIC_SIZE=3.1M", 3250586)
SIZE_CASE(exponent, "SHMEM_SYMMETRIC_SIZE=1.5e6", 1500000)
SIZE_CASE(bytes_suffix, "SHMEM_SYMMETRIC_SIZE=20MB", 20u << 20)
SIZE_CASE(old_name, "SMA_SYMMETRIC_SIZE=2M", 2u << 20)
SIZE_CASE(both_names, "SMA_SYMMETRIC_SIZE=1k SHMEM_SYMMETRIC_SIZE=4M", 4u << 20)

TEST(HEAP_11_g, "a size in gigabytes is a cap, not a commitment", .env = "SHMEM_SYMMETRIC_SIZE=64G")
{
    check_size(16u << 20);
}

TEST(HEAP_11_t, "the suffix t", .env = "SHMEM_SYMMETRIC_SIZE=0.01t")
{
    check_size(16u << 20);
}

TEST(HEAP_11_zero, "a heap of size zero is legal", .env = "SHMEM_SYMMETRIC_SIZE=0")
{
    static long x;
    CHECK(shmem_malloc((size_t)1 << 40) == NULL);
    shmem_long_p(&x, 1, right_pe());
    shmem_barrier_all();
    CHECK_EQ(x, 1);
}

#define MALFORMED(SUFFIX, VALUE)                                                                                \
    TEST(HEAP_11_malformed_##SUFFIX, "a malformed size is refused: " VALUE, .bare = 1, .aborts = 1,             \
         .env = "SHMEM_SYMMETRIC_SIZE=" VALUE, .says = "SHMEM_SYMMETRIC_SIZE|" VALUE)                           \
    {                                                                                                           \
        int provided;                                                                                           \
        exit(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0);                                           \
    }

MALFORMED(word, "abc")
MALFORMED(negative, "-5M")
MALFORMED(nan, "nan")
MALFORMED(infinite, "inf")
MALFORMED(suffix, "M")
MALFORMED(unknown_suffix, "5x")
MALFORMED(overflow, "99999999999999999999t")

TEST(HEAP_11_small_dev_shm, "the heap does not depend on the size of /dev/shm", .dev_shm_mib = 16,
     .env = "SHMEM_SYMMETRIC_SIZE=64M")
{
    unsigned char *block = shmem_malloc(32u << 20);
    REQUIRE(block);
    memset(block, me + 1, 32u << 20);
    shmem_barrier_all();
    CHECK_EQ(shmem_uchar_g(block + (32u << 20) - 1, right_pe()), right_pe() + 1);
}

TEST(HEAP_12, "a block may lie at another address on every PE", .also = "SYM-4")
{
    static uintptr_t addresses[64];
    long *block = shmem_malloc(sizeof *block);
    REQUIRE(block);
    for (int pe = 0; pe < npes; pe++)
        shmem_putmem(&addresses[me], &block, sizeof block, pe);
    shmem_long_p(block, 10 + me, right_pe());
    shmem_barrier_all();
    CHECK_EQ(*block, 10 + left_pe());
    CHECK_EQ(addresses[me], (uintptr_t)block);
}
