/* Arguments that the standard leaves undefined: a message that names the call and the value, and the end of the job. */
#include "check.h"

static long target[8];
static uint64_t signal_word;
static long double element;

/* PE 0 makes the call; the others wait for it to end the job. */
#define REFUSED(NAME, TITLE, CALL_NAME, SAYS, WRONG)                                                            \
    TEST(NAME, TITLE, .aborts = 1, .says_once = CALL_NAME, .says = SAYS)                                        \
    {                                                                                                           \
        long local[8] = {0};                                                                                    \
        (void)local;                                                                                            \
        if (me == 0) {                                                                                          \
            WRONG;                                                                                              \
            CHECK(!"the call returned");                                                                        \
        }                                                                                                       \
        shmem_barrier_all();                                                                                    \
    }

REFUSED(SYM_8_put, "put to a PE beyond the last", "shmem_long_put", "PE 99", shmem_long_put(target, local, 8, 99))
REFUSED(SYM_8_negative, "put to a negative PE", "shmem_long_put", "PE -1", shmem_long_put(target, local, 8, -1))
REFUSED(SYM_8_nbi, "put_nbi to a PE beyond the last", "shmem_long_put_nbi", "PE 99",
        shmem_long_put_nbi(target, local, 8, 99))
REFUSED(SYM_8_get, "get from a PE beyond the last", "shmem_long_get", "PE 99", shmem_long_get(local, target, 8, 99))
REFUSED(SYM_8_p, "p to a PE beyond the last", "shmem_long_p", "PE 99", shmem_long_p(target, 1, 99))
REFUSED(SYM_8_g, "g from a PE beyond the last", "shmem_long_g", "PE 99", local[0] = shmem_long_g(target, 99))
REFUSED(SYM_8_longdouble_p, "p of a long double to a PE beyond the last", "shmem_longdouble_p: PE", "PE 99",
        shmem_longdouble_p(&element, 1, 99))
REFUSED(SYM_8_longdouble_g, "g of a long double from a PE beyond the last", "shmem_ctx_longdouble_g: PE", "PE 99",
        element = shmem_ctx_longdouble_g(SHMEM_CTX_DEFAULT, &element, 99))
REFUSED(SYM_8_next, "g from the PE after the last", "shmem_long_g", "PE", local[0] = shmem_long_g(target, npes))
REFUSED(SYM_8_huge, "p to PE INT_MAX", "shmem_long_p", "PE 2147483647", shmem_long_p(target, 1, 2147483647))
REFUSED(SYM_8_iput, "iput to a PE beyond the last", "shmem_long_iput", "PE 99",
        shmem_long_iput(target, local, 1, 1, 8, 99))
REFUSED(SYM_8_ibget, "ibget from a PE beyond the last", "shmem_long_ibget", "PE 99",
        shmem_long_ibget(local, target, 1, 1, 1, 8, 99))
REFUSED(SYM_8_putmem, "putmem to a PE beyond the last", "shmem_putmem", "PE 99", shmem_putmem(target, local, 8, 99))
REFUSED(SYM_8_sized, "put128 to a PE beyond the last", "shmem_put128", "PE 99", shmem_put128(target, local, 1, 99))
REFUSED(SYM_8_amo, "an atomic on a PE beyond the last", "shmem_long_atomic_inc", "PE 99", shmem_long_atomic_inc(target, 99))
REFUSED(SYM_8_fetch, "a fetching atomic on a PE beyond the last", "shmem_long_atomic_fetch_add", "PE 99",
        local[0] = shmem_long_atomic_fetch_add(target, 1, 99))
REFUSED(SYM_8_put_signal, "put_signal to a PE beyond the last", "shmem_long_put_signal", "PE 99",
        shmem_long_put_signal(target, local, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 99))
REFUSED(SYM_8_signal, "signal_set on a PE beyond the last", "shmem_signal_set", "PE 99",
        shmem_signal_set(&signal_word, 1, 99))
REFUSED(SYM_8_context, "a context form on a PE beyond the last", "shmem_ctx_long_p", "PE 99",
        shmem_ctx_long_p(SHMEM_CTX_DEFAULT, target, 1, 99))

REFUSED(SYM_2_put, "put to a stack variable", "shmem_long_put", "symmetric", shmem_long_put(local, local, 8, npes - 1))
REFUSED(SYM_2_get, "get from a stack variable", "shmem_long_get", "symmetric", shmem_long_get(local, local, 8, npes - 1))
REFUSED(SYM_2_p, "p to a stack variable", "shmem_long_p", "symmetric", shmem_long_p(local, 1, npes - 1))
REFUSED(SYM_2_null, "p to NULL", "shmem_long_p", "symmetric", shmem_long_p(NULL, 1, npes - 1))
REFUSED(SYM_2_malloc, "put to memory of malloc", "shmem_long_put", "symmetric",
        shmem_long_put(malloc(64), local, 8, npes - 1))
REFUSED(SYM_2_amo, "an atomic on a stack variable", "shmem_long_atomic_inc", "symmetric",
        shmem_long_atomic_inc(local, npes - 1))
REFUSED(SYM_2_signal, "a signal on a stack variable", "shmem_signal_add", "symmetric",
        shmem_signal_add((uint64_t *)local, 1, npes - 1))
REFUSED(SYM_2_null_count, "put of elements to NULL", "shmem_long_put", "symmetric",
        shmem_long_put(NULL, local, 8, npes - 1))

/* Nothing past the end of the symmetric segments may be touched. */
REFUSED(SYM_5_overrun, "a put whose length leaves the symmetric memory", "shmem_putmem", "symmetric",
        shmem_putmem(target, local, (size_t)1 << 46, npes - 1))
REFUSED(SYM_5_overflow, "a put whose length overflows the address", "shmem_long_put", "shmem_long_put",
        shmem_long_put(target, local, SIZE_MAX / 4, npes - 1))
REFUSED(SYM_5_stride, "an iput whose stride leaves the symmetric memory", "shmem_long_iput", "symmetric",
        shmem_long_iput(target, local, (ptrdiff_t)1 << 40, 1, 3, npes - 1))

REFUSED(CTX_8_invalid, "a put on SHMEM_CTX_INVALID", "shmem_ctx_long_p", "context|invalid",
        shmem_ctx_long_p(SHMEM_CTX_INVALID, target, 1, 0))
REFUSED(CTX_8_atomic, "an atomic on SHMEM_CTX_INVALID", "shmem_ctx_long_atomic_inc", "context|invalid",
        shmem_ctx_long_atomic_inc(SHMEM_CTX_INVALID, target, 0))

TEST(PTR_3, "the result of shmem_ptr is no symmetric address", .one_node = 1, .aborts = 1, .says_once = "shmem_long_p", .says = "symmetric",
     .min_pes = 2)
{
    long *heap = shmem_malloc(sizeof *heap), *there = shmem_ptr(heap, right_pe());
    REQUIRE(there);
    if (me == 0)
        shmem_long_p(there, 1, right_pe());
    shmem_barrier_all();
}

/* The other program of the job is built from this file too, with more static data, so that addresses do not agree. */
#ifdef TWIN
static long more_data[1000] = {1};
#endif

TEST(SYM_1_other_program, "PEs that run different programs are told so, by name and build-id", .beside = "twin",
     .aborts = 1, .says = "twin|build-id", .min_pes = 2)
{
#ifdef TWIN
    more_data[me]++;
#endif
    shmem_barrier_all();
}

TEST(SYM_1_heap_only, "programs that share no static variables may differ when told so", .beside = "twin",
     .env = "SHMEM_STATICS=0", .min_pes = 2)
{
    long *block = shmem_malloc(sizeof *block);
    REQUIRE(block);
    shmem_long_p(block, 5 + me, right_pe());
    shmem_barrier_all();
    CHECK_EQ(*block, 5 + left_pe());
}
