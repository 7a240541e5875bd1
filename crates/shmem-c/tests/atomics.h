/* Every form of the atomics behind one table. A row is one type in one form; values travel as the low bytes of a
 * uint64_t, so that a wrong width shows in the bytes beside. Built with -DSHIFTED_NAMES the rows call the profiling twins.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include "check.h"
#include "types.h"
#ifdef SHIFTED_NAMES
#include <pshmem.h>
#define ROUTINE(NAME) pshmem_##NAME
#else
#define ROUTINE(NAME) shmem_##NAME
#endif

struct atomics {
    const char *name;
    size_t size;
    uint64_t (*fetch)(const void *source, int pe);
    void (*fetch_nbi)(void *result, const void *source, int pe);
    void (*set)(void *dest, uint64_t value, int pe);
    uint64_t (*swap)(void *dest, uint64_t value, int pe);
    void (*swap_nbi)(void *result, void *dest, uint64_t value, int pe);
    /* Integers only: */
    uint64_t (*compare_swap)(void *dest, uint64_t cond, uint64_t value, int pe);
    void (*compare_swap_nbi)(void *result, void *dest, uint64_t cond, uint64_t value, int pe);
    void (*inc)(void *dest, int pe);
    uint64_t (*fetch_inc)(void *dest, int pe);
    void (*fetch_inc_nbi)(void *result, void *dest, int pe);
    void (*add)(void *dest, uint64_t value, int pe);
    uint64_t (*fetch_add)(void *dest, uint64_t value, int pe);
    void (*fetch_add_nbi)(void *result, void *dest, uint64_t value, int pe);
    /* Types with bitwise operations only; [AND], [OR], [XOR]: */
    void (*bitwise[3])(void *dest, uint64_t value, int pe);
    uint64_t (*fetch_bitwise[3])(void *dest, uint64_t value, int pe);
    void (*fetch_bitwise_nbi[3])(void *result, void *dest, uint64_t value, int pe);
};

enum { AND, OR, XOR };

/* The context of the context forms. */
static shmem_ctx_t atomic_context = SHMEM_CTX_DEFAULT;

#define NO_CONTEXT(FIRST) FIRST
#define A_CONTEXT(FIRST) atomic_context, FIRST
#define CALL(ROUTINE_NAME, ARGUMENTS) ROUTINE_NAME ARGUMENTS

#define PLAIN_NAME(TYPE_NAME, OP) ROUTINE(TYPE_NAME##_atomic_##OP)
#define CONTEXT_NAME(TYPE_NAME, OP) ROUTINE(ctx_##TYPE_NAME##_atomic_##OP)
#define GENERIC_NAME(TYPE_NAME, OP) shmem_atomic_##OP

#define BITS_OF(T, CALLED)                                                                                      \
    T result = CALLED; uint64_t bits = 0; memcpy(&bits, &result, sizeof result); return bits;

#define EXCHANGING(FORM, SPELLED, CTX, NAME, T)                                                                 \
    static uint64_t FORM##_##NAME##_fetch(const void *s, int pe)                                                \
    { BITS_OF(T, CALL(SPELLED(NAME, fetch), (CTX((const T *)s), pe))) }                                         \
    static void FORM##_##NAME##_fetch_nbi(void *r, const void *s, int pe)                                       \
    { CALL(SPELLED(NAME, fetch_nbi), (CTX((T *)r), (const T *)s, pe)); }                                        \
    static void FORM##_##NAME##_set(void *d, uint64_t v, int pe)                                                \
    { T value; memcpy(&value, &v, sizeof value); CALL(SPELLED(NAME, set), (CTX((T *)d), value, pe)); }          \
    static uint64_t FORM##_##NAME##_swap(void *d, uint64_t v, int pe)                                           \
    { T value; memcpy(&value, &v, sizeof value); BITS_OF(T, CALL(SPELLED(NAME, swap), (CTX((T *)d), value, pe))) } \
    static void FORM##_##NAME##_swap_nbi(void *r, void *d, uint64_t v, int pe)                                  \
    { T value; memcpy(&value, &v, sizeof value); CALL(SPELLED(NAME, swap_nbi), (CTX((T *)r), (T *)d, value, pe)); }

#define COUNTING(FORM, SPELLED, CTX, NAME, T)                                                                   \
    static uint64_t FORM##_##NAME##_compare_swap(void *d, uint64_t c, uint64_t v, int pe)                       \
    { BITS_OF(T, CALL(SPELLED(NAME, compare_swap), (CTX((T *)d), (T)c, (T)v, pe))) }                            \
    static void FORM##_##NAME##_compare_swap_nbi(void *r, void *d, uint64_t c, uint64_t v, int pe)              \
    { CALL(SPELLED(NAME, compare_swap_nbi), (CTX((T *)r), (T *)d, (T)c, (T)v, pe)); }                           \
    static void FORM##_##NAME##_inc(void *d, int pe) { CALL(SPELLED(NAME, inc), (CTX((T *)d), pe)); }           \
    static uint64_t FORM##_##NAME##_fetch_inc(void *d, int pe)                                                  \
    { BITS_OF(T, CALL(SPELLED(NAME, fetch_inc), (CTX((T *)d), pe))) }                                           \
    static void FORM##_##NAME##_fetch_inc_nbi(void *r, void *d, int pe)                                         \
    { CALL(SPELLED(NAME, fetch_inc_nbi), (CTX((T *)r), (T *)d, pe)); }                                          \
    UPDATE(FORM, SPELLED, CTX, NAME, T, add)

#define UPDATE(FORM, SPELLED, CTX, NAME, T, OP)                                                                 \
    static void FORM##_##NAME##_##OP(void *d, uint64_t v, int pe)                                               \
    { CALL(SPELLED(NAME, OP), (CTX((T *)d), (T)v, pe)); }                                                       \
    static uint64_t FORM##_##NAME##_fetch_##OP(void *d, uint64_t v, int pe)                                     \
    { BITS_OF(T, CALL(SPELLED(NAME, fetch_##OP), (CTX((T *)d), (T)v, pe))) }                                    \
    static void FORM##_##NAME##_fetch_##OP##_nbi(void *r, void *d, uint64_t v, int pe)                          \
    { CALL(SPELLED(NAME, fetch_##OP##_nbi), (CTX((T *)r), (T *)d, (T)v, pe)); }

#define BITWISE(FORM, SPELLED, CTX, NAME, T)                                                                    \
    UPDATE(FORM, SPELLED, CTX, NAME, T, and) UPDATE(FORM, SPELLED, CTX, NAME, T, or)                            \
    UPDATE(FORM, SPELLED, CTX, NAME, T, xor)

#define EXCHANGING_ROW(FORM, NAME, T)                                                                           \
    .name = #FORM " " #NAME, .size = sizeof(T), .fetch = FORM##_##NAME##_fetch,                                 \
    .fetch_nbi = FORM##_##NAME##_fetch_nbi, .set = FORM##_##NAME##_set, .swap = FORM##_##NAME##_swap,           \
    .swap_nbi = FORM##_##NAME##_swap_nbi
#define COUNTING_ROW(FORM, NAME)                                                                                \
    .compare_swap = FORM##_##NAME##_compare_swap, .compare_swap_nbi = FORM##_##NAME##_compare_swap_nbi,         \
    .inc = FORM##_##NAME##_inc, .fetch_inc = FORM##_##NAME##_fetch_inc,                                         \
    .fetch_inc_nbi = FORM##_##NAME##_fetch_inc_nbi, .add = FORM##_##NAME##_add,                                 \
    .fetch_add = FORM##_##NAME##_fetch_add, .fetch_add_nbi = FORM##_##NAME##_fetch_add_nbi
#define BITWISE_ROW(FORM, NAME)                                                                                 \
    .bitwise = {FORM##_##NAME##_and, FORM##_##NAME##_or, FORM##_##NAME##_xor},                                  \
    .fetch_bitwise = {FORM##_##NAME##_fetch_and, FORM##_##NAME##_fetch_or, FORM##_##NAME##_fetch_xor},          \
    .fetch_bitwise_nbi = {FORM##_##NAME##_fetch_and_nbi, FORM##_##NAME##_fetch_or_nbi, FORM##_##NAME##_fetch_xor_nbi}

#define PLAIN(FAMILY, NAME, T) FAMILY(plain, PLAIN_NAME, NO_CONTEXT, NAME, T)
#define CONTEXT(FAMILY, NAME, T) FAMILY(ctx, CONTEXT_NAME, A_CONTEXT, NAME, T)
#define GENERIC(FAMILY, NAME, T)                                                                                \
    FAMILY(generic, GENERIC_NAME, NO_CONTEXT, NAME, T) FAMILY(generic_ctx, GENERIC_NAME, A_CONTEXT, NAME, T)

#define INTEGER_CALLS(NAME, T)                                                                                  \
    PLAIN(EXCHANGING, NAME, T) PLAIN(COUNTING, NAME, T) CONTEXT(EXCHANGING, NAME, T) CONTEXT(COUNTING, NAME, T)
#define FLOAT_CALLS(NAME, T) PLAIN(EXCHANGING, NAME, T) CONTEXT(EXCHANGING, NAME, T) GENERIC(EXCHANGING, NAME, T)
#define BITWISE_CALLS(NAME, T) PLAIN(BITWISE, NAME, T) CONTEXT(BITWISE, NAME, T)
#define GENERIC_CALLS(NAME, T) GENERIC(EXCHANGING, NAME, T) GENERIC(COUNTING, NAME, T)
#define GENERIC_BITWISE_CALLS(NAME, T) GENERIC(BITWISE, NAME, T)

/* The types whose generic forms have bitwise operations, and the one that has none. */
#define GENERIC_BITWISE_TYPES(X)                                                                                \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int, int) X(long, long)

ATOMIC_INTEGERS(INTEGER_CALLS)
ATOMIC_FLOATS(FLOAT_CALLS)
ATOMIC_BITWISE(BITWISE_CALLS)
STANDARD_INTEGERS(GENERIC_CALLS)
GENERIC_BITWISE_TYPES(GENERIC_BITWISE_CALLS)

#define INTEGER_ROWS(NAME, T)                                                                                   \
    {EXCHANGING_ROW(plain, NAME, T), COUNTING_ROW(plain, NAME)}, {EXCHANGING_ROW(ctx, NAME, T), COUNTING_ROW(ctx, NAME)},
#define FLOAT_ROWS(NAME, T)                                                                                     \
    {EXCHANGING_ROW(plain, NAME, T)}, {EXCHANGING_ROW(ctx, NAME, T)}, {EXCHANGING_ROW(generic, NAME, T)},       \
    {EXCHANGING_ROW(generic_ctx, NAME, T)},
#define BITWISE_ROWS(NAME, T)                                                                                   \
    {EXCHANGING_ROW(plain, NAME, T), BITWISE_ROW(plain, NAME)}, {EXCHANGING_ROW(ctx, NAME, T), BITWISE_ROW(ctx, NAME)},
#define GENERIC_ROWS(NAME, T)                                                                                   \
    {EXCHANGING_ROW(generic, NAME, T), COUNTING_ROW(generic, NAME)},                                            \
    {EXCHANGING_ROW(generic_ctx, NAME, T), COUNTING_ROW(generic_ctx, NAME)},
#define GENERIC_BITWISE_ROWS(NAME, T)                                                                           \
    {EXCHANGING_ROW(generic, NAME, T), BITWISE_ROW(generic, NAME)},                                             \
    {EXCHANGING_ROW(generic_ctx, NAME, T), BITWISE_ROW(generic_ctx, NAME)},

static const struct atomics atomic_table[] = {
    ATOMIC_INTEGERS(INTEGER_ROWS) ATOMIC_FLOATS(FLOAT_ROWS) ATOMIC_BITWISE(BITWISE_ROWS)
    STANDARD_INTEGERS(GENERIC_ROWS) GENERIC_BITWISE_TYPES(GENERIC_BITWISE_ROWS)
};

#define FOR_EACH_ATOMIC(A)                                                                                      \
    for (const struct atomics *A = atomic_table; A < atomic_table + sizeof atomic_table / sizeof *A; A++)

/* The low bytes of a value that an element of the row's type holds. */
static inline uint64_t held(const struct atomics *a, uint64_t value)
{
    return a->size == 8 ? value : value & 0xFFFFFFFFu;
}

#endif
