/* Every form of wait and test behind one table; values travel as the low bytes of a uint64_t. Built with -DSHIFTED_NAMES
 * the rows call the profiling twins.
 */
#ifndef WAITS_H
#define WAITS_H

#include "check.h"
#include "types.h"
#ifdef SHIFTED_NAMES
#include <pshmem.h>
#define ROUTINE(NAME) pshmem_##NAME
#else
#define ROUTINE(NAME) shmem_##NAME
#endif

struct waits {
    const char *name;
    size_t size;
    int is_signed;
    void (*wait_until)(void *ivar, int cmp, uint64_t value);
    int (*test)(void *ivar, int cmp, uint64_t value);
    /* Not in the 2-byte rows, which have the forms for one variable only: */
    void (*wait_until_all)(void *ivars, size_t count, const int *status, int cmp, uint64_t value);
    size_t (*wait_until_any)(void *ivars, size_t count, const int *status, int cmp, uint64_t value);
    size_t (*wait_until_some)(void *ivars, size_t count, size_t *indices, const int *status, int cmp, uint64_t value);
    void (*wait_until_all_vector)(void *ivars, size_t count, const int *status, int cmp, const void *values);
    size_t (*wait_until_any_vector)(void *ivars, size_t count, const int *status, int cmp, const void *values);
    size_t (*wait_until_some_vector)(void *ivars, size_t count, size_t *indices, const int *status, int cmp,
                                     const void *values);
    int (*test_all)(void *ivars, size_t count, const int *status, int cmp, uint64_t value);
    size_t (*test_any)(void *ivars, size_t count, const int *status, int cmp, uint64_t value);
    size_t (*test_some)(void *ivars, size_t count, size_t *indices, const int *status, int cmp, uint64_t value);
    int (*test_all_vector)(void *ivars, size_t count, const int *status, int cmp, const void *values);
    size_t (*test_any_vector)(void *ivars, size_t count, const int *status, int cmp, const void *values);
    size_t (*test_some_vector)(void *ivars, size_t count, size_t *indices, const int *status, int cmp, const void *values);
};

#define PLAIN_NAME(TYPE_NAME, OP) ROUTINE(TYPE_NAME##_##OP)
#define GENERIC_NAME(TYPE_NAME, OP) shmem_##OP

#define ONE(FORM, SPELLED, NAME, T)                                                                             \
    static void FORM##_##NAME##_wait_until(void *x, int cmp, uint64_t v)                                        \
    { SPELLED(NAME, wait_until)((T *)x, cmp, (T)v); }                                                           \
    static int FORM##_##NAME##_test(void *x, int cmp, uint64_t v)                                               \
    { return SPELLED(NAME, test)((T *)x, cmp, (T)v); }

#define COMPARED(FORM, SPELLED, NAME, T, RESULT, RETURN, OP)                                                    \
    static RESULT FORM##_##NAME##_##OP(void *x, size_t n, const int *status, int cmp, uint64_t v)               \
    { RETURN SPELLED(NAME, OP)((T *)x, n, status, cmp, (T)v); }                                                 \
    static RESULT FORM##_##NAME##_##OP##_vector(void *x, size_t n, const int *status, int cmp, const void *v)   \
    { RETURN SPELLED(NAME, OP##_vector)((T *)x, n, status, cmp, (const T *)v); }

#define INDEXED(FORM, SPELLED, NAME, T, OP)                                                                     \
    static size_t FORM##_##NAME##_##OP(void *x, size_t n, size_t *i, const int *status, int cmp, uint64_t v)    \
    { return SPELLED(NAME, OP)((T *)x, n, i, status, cmp, (T)v); }                                              \
    static size_t FORM##_##NAME##_##OP##_vector(void *x, size_t n, size_t *i, const int *status, int cmp, const void *v) \
    { return SPELLED(NAME, OP##_vector)((T *)x, n, i, status, cmp, (const T *)v); }

#define MANY(FORM, SPELLED, NAME, T)                                                                            \
    ONE(FORM, SPELLED, NAME, T)                                                                                 \
    COMPARED(FORM, SPELLED, NAME, T, void, , wait_until_all)                                                    \
    COMPARED(FORM, SPELLED, NAME, T, size_t, return, wait_until_any)                                            \
    COMPARED(FORM, SPELLED, NAME, T, int, return, test_all)                                                     \
    COMPARED(FORM, SPELLED, NAME, T, size_t, return, test_any)                                                  \
    INDEXED(FORM, SPELLED, NAME, T, wait_until_some)                                                            \
    INDEXED(FORM, SPELLED, NAME, T, test_some)

#define PLAIN_MANY(NAME, T) MANY(plain, PLAIN_NAME, NAME, T)
#define GENERIC_MANY(NAME, T) MANY(generic, GENERIC_NAME, NAME, T)
#define PLAIN_ONE(NAME, T) ONE(plain, PLAIN_NAME, NAME, T)
#define GENERIC_ONE(NAME, T) ONE(generic, GENERIC_NAME, NAME, T)
#define SHORTS(X) X(short, short) X(ushort, unsigned short)

ATOMIC_INTEGERS(PLAIN_MANY)
STANDARD_INTEGERS(GENERIC_MANY)
SHORTS(PLAIN_ONE)
SHORTS(GENERIC_ONE)

#define ONE_ROW(FORM, NAME, T)                                                                                  \
    .name = #FORM " " #NAME, .size = sizeof(T), .is_signed = (T)-1 < (T)1,                                      \
    .wait_until = FORM##_##NAME##_wait_until, .test = FORM##_##NAME##_test
#define MANY_ROW(FORM, NAME, T)                                                                                 \
    {ONE_ROW(FORM, NAME, T), .wait_until_all = FORM##_##NAME##_wait_until_all,                                  \
     .wait_until_any = FORM##_##NAME##_wait_until_any, .wait_until_some = FORM##_##NAME##_wait_until_some,      \
     .wait_until_all_vector = FORM##_##NAME##_wait_until_all_vector,                                            \
     .wait_until_any_vector = FORM##_##NAME##_wait_until_any_vector,                                            \
     .wait_until_some_vector = FORM##_##NAME##_wait_until_some_vector,                                          \
     .test_all = FORM##_##NAME##_test_all, .test_any = FORM##_##NAME##_test_any,                                \
     .test_some = FORM##_##NAME##_test_some, .test_all_vector = FORM##_##NAME##_test_all_vector,                \
     .test_any_vector = FORM##_##NAME##_test_any_vector, .test_some_vector = FORM##_##NAME##_test_some_vector},
#define PLAIN_MANY_ROW(NAME, T) MANY_ROW(plain, NAME, T)
#define GENERIC_MANY_ROW(NAME, T) MANY_ROW(generic, NAME, T)
#define ONE_ROWS(NAME, T) {ONE_ROW(plain, NAME, T)}, {ONE_ROW(generic, NAME, T)},

static const struct waits wait_table[] = {
    ATOMIC_INTEGERS(PLAIN_MANY_ROW) STANDARD_INTEGERS(GENERIC_MANY_ROW) SHORTS(ONE_ROWS)
};

#define FOR_EACH_WAIT(W)                                                                                        \
    for (const struct waits *W = wait_table; W < wait_table + sizeof wait_table / sizeof *W; W++)

#endif
