/* Removed and legacy calls. */
#include "check.h"

TEST(LEG_1, "the cache calls exist and do nothing")
{
    static long x = 7;
    shmem_set_cache_inv();
    shmem_clear_cache_inv();
    shmem_set_cache_line_inv(&x);
    shmem_clear_cache_line_inv(&x);
    shmem_udcflush();
    shmem_udcflush_line(&x);
    CHECK_EQ(x, 7);
}

TEST(LEG_2, "the old names of set-up and heap calls", .bare = 1)
{
    start_pes(0);
    me = _my_pe(), npes = _num_pes();
    CHECK_EQ(me, shmem_my_pe());
    CHECK_EQ(npes, shmem_n_pes());
    long *block = shmalloc(100);
    REQUIRE(block);
    CHECK_EQ((uintptr_t)block % 16, 0);
    *block = me;
    block = shrealloc(block, 10000);
    REQUIRE(block);
    CHECK_EQ(*block, me);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(block, right_pe()), right_pe());
    shmem_barrier_all();
    shfree(block);
    block = shmemalign(512, 100);
    REQUIRE(block);
    CHECK_EQ((uintptr_t)block % 512, 0);
    shfree(block);
    CHECK(shmalloc(0) == NULL);
}

TEST(LEG_2_shfree, "an error of an old heap call names that one", .aborts = 1, .says = "shfree: 0x")
{
    char *block = shmalloc(100);
    shfree(block + 16);
}

TEST(LEG_2_shmemalign, "so does one of an alignment", .aborts = 1, .says = "shmemalign|alignment")
{
    CHECK(shmemalign(3, 100) == NULL);
}

/* Programs older than C11 call it without a macro; the parentheses keep ours away. */
TEST(LEG_4, "the untyped swap of longs is there for old programs")
{
#undef shmem_swap
    long shmem_swap(long *dest, long value, int pe);
    static long x;
    x = me;
    shmem_barrier_all();
    CHECK_EQ(shmem_swap(&x, 100 + me, right_pe()), right_pe());
    shmem_barrier_all();
    CHECK_EQ(x, 100 + left_pe());
}
