/* Every form of put and get behind one table, so that a test written once runs over all of them.
 *
 * A row is one element type or size in one form (plain, context, type-generic). Its functions take untyped pointers and
 * do nothing but call the form's routine; elements travel as bytes. Built with -DSHIFTED_NAMES the rows call the
 * profiling twins.
 */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "check.h"
#include "types.h"
#ifdef SHIFTED_NAMES
#include <pshmem.h>
#define ROUTINE(NAME) pshmem_##NAME
#else
#define ROUTINE(NAME) shmem_##NAME
#endif

struct transfers {
    const char *name;
    size_t size;  /* bytes of an element */
    size_t value; /* leading bytes that carry its value: a long double has padding */
    void (*put)(void *dest, const void *source, size_t count, int pe);
    void (*put_nbi)(void *dest, const void *source, size_t count, int pe);
    void (*get)(void *dest, const void *source, size_t count, int pe);
    void (*get_nbi)(void *dest, const void *source, size_t count, int pe);
    void (*put_signal)(void *dest, const void *source, size_t count, uint64_t *signal, uint64_t value, int op, int pe);
    void (*put_signal_nbi)(void *dest, const void *source, size_t count, uint64_t *signal, uint64_t value, int op,
                           int pe);
    /* Not in the mem form: */
    void (*iput)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, int pe);
    void (*iget)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, int pe);
    void (*ibput)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t blocks, int pe);
    void (*ibget)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t blocks, int pe);
    /* Typed forms only: */
    void (*p)(void *dest, const void *value, int pe);
    void (*g)(void *result, const void *source, int pe);
};

/* The context of the context forms. */
static shmem_ctx_t transfer_context = SHMEM_CTX_DEFAULT;

/* How a form begins its arguments. */
#define NO_CONTEXT(FIRST) FIRST
#define A_CONTEXT(FIRST) transfer_context, FIRST

/* Expands the arguments before a type-generic macro counts them. */
#define CALL(ROUTINE_NAME, ARGUMENTS) ROUTINE_NAME ARGUMENTS

/* How a form spells an operation; the suffix goes last: put8_nbi, but char_put_nbi. */
#define PLAIN_NAME(TYPE_NAME, OP, SUFFIX) ROUTINE(TYPE_NAME##_##OP##SUFFIX)
#define CONTEXT_NAME(TYPE_NAME, OP, SUFFIX) ROUTINE(ctx_##TYPE_NAME##_##OP##SUFFIX)
#define GENERIC_NAME(TYPE_NAME, OP, SUFFIX) shmem_##OP##SUFFIX
#define SIZED_NAME(BITS, OP, SUFFIX) ROUTINE(OP##BITS##SUFFIX)
#define CONTEXT_SIZED_NAME(BITS, OP, SUFFIX) ROUTINE(ctx_##OP##BITS##SUFFIX)

#define CONTIGUOUS(FORM, SPELLED, CTX, NAME, T)                                                                 \
    static void FORM##_##NAME##_put(void *d, const void *s, size_t n, int pe)                                   \
    { CALL(SPELLED(NAME, put, ), (CTX((T *)d), (const T *)s, n, pe)); }                                         \
    static void FORM##_##NAME##_put_nbi(void *d, const void *s, size_t n, int pe)                               \
    { CALL(SPELLED(NAME, put, _nbi), (CTX((T *)d), (const T *)s, n, pe)); }                                     \
    static void FORM##_##NAME##_get(void *d, const void *s, size_t n, int pe)                                   \
    { CALL(SPELLED(NAME, get, ), (CTX((T *)d), (const T *)s, n, pe)); }                                         \
    static void FORM##_##NAME##_get_nbi(void *d, const void *s, size_t n, int pe)                               \
    { CALL(SPELLED(NAME, get, _nbi), (CTX((T *)d), (const T *)s, n, pe)); }                                     \
    static void FORM##_##NAME##_put_signal(void *d, const void *s, size_t n, uint64_t *a, uint64_t v, int op, int pe) \
    { CALL(SPELLED(NAME, put, _signal), (CTX((T *)d), (const T *)s, n, a, v, op, pe)); }                        \
    static void FORM##_##NAME##_put_signal_nbi(void *d, const void *s, size_t n, uint64_t *a, uint64_t v, int op, int pe) \
    { CALL(SPELLED(NAME, put, _signal_nbi), (CTX((T *)d), (const T *)s, n, a, v, op, pe)); }

#define STRIDED(FORM, SPELLED, CTX, NAME, T)                                                                    \
    static void FORM##_##NAME##_iput(void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)    \
    { CALL(SPELLED(NAME, iput, ), (CTX((T *)d), (const T *)s, dst, sst, n, pe)); }                              \
    static void FORM##_##NAME##_iget(void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)    \
    { CALL(SPELLED(NAME, iget, ), (CTX((T *)d), (const T *)s, dst, sst, n, pe)); }                              \
    static void FORM##_##NAME##_ibput(void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t b, size_t n, int pe) \
    { CALL(SPELLED(NAME, ibput, ), (CTX((T *)d), (const T *)s, dst, sst, b, n, pe)); }                          \
    static void FORM##_##NAME##_ibget(void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t b, size_t n, int pe) \
    { CALL(SPELLED(NAME, ibget, ), (CTX((T *)d), (const T *)s, dst, sst, b, n, pe)); }

#define SINGLE(FORM, SPELLED, CTX, NAME, T)                                                                     \
    static void FORM##_##NAME##_p(void *d, const void *value, int pe)                                           \
    { T v; memcpy(&v, value, sizeof v); CALL(SPELLED(NAME, p, ), (CTX((T *)d), v, pe)); }                       \
    static void FORM##_##NAME##_g(void *result, const void *s, int pe)                                          \
    { T v = CALL(SPELLED(NAME, g, ), (CTX((const T *)s), pe)); memcpy(result, &v, sizeof v); }

#define CONTIGUOUS_ROW(FORM, NAME)                                                                              \
    .name = #FORM " " #NAME, .put = FORM##_##NAME##_put, .put_nbi = FORM##_##NAME##_put_nbi,                    \
    .get = FORM##_##NAME##_get, .get_nbi = FORM##_##NAME##_get_nbi,                                             \
    .put_signal = FORM##_##NAME##_put_signal, .put_signal_nbi = FORM##_##NAME##_put_signal_nbi
#define STRIDED_ROW(FORM, NAME)                                                                                 \
    .iput = FORM##_##NAME##_iput, .iget = FORM##_##NAME##_iget,                                                 \
    .ibput = FORM##_##NAME##_ibput, .ibget = FORM##_##NAME##_ibget
#define TYPED_ROW(FORM, NAME, T)                                                                                \
    {CONTIGUOUS_ROW(FORM, NAME), STRIDED_ROW(FORM, NAME), .size = sizeof(T),                                    \
     .value = sizeof(T) == 16 ? 10 : sizeof(T), .p = FORM##_##NAME##_p, .g = FORM##_##NAME##_g},
#define SIZED_ROW(FORM, BITS) {CONTIGUOUS_ROW(FORM, BITS), STRIDED_ROW(FORM, BITS), .size = BITS / 8, .value = BITS / 8},
#define MEM_ROW(FORM) {CONTIGUOUS_ROW(FORM, mem), .size = 1, .value = 1},

#define TYPED(FORM, SPELLED, CTX, NAME, T)                                                                      \
    CONTIGUOUS(FORM, SPELLED, CTX, NAME, T) STRIDED(FORM, SPELLED, CTX, NAME, T) SINGLE(FORM, SPELLED, CTX, NAME, T)

#define PLAIN_TYPED(NAME, T) TYPED(plain, PLAIN_NAME, NO_CONTEXT, NAME, T)
#define CONTEXT_TYPED(NAME, T) TYPED(ctx, CONTEXT_NAME, A_CONTEXT, NAME, T)
#define PLAIN_SIZED(BITS)                                                                                       \
    CONTIGUOUS(plain, SIZED_NAME, NO_CONTEXT, BITS, void) STRIDED(plain, SIZED_NAME, NO_CONTEXT, BITS, void)
#define CONTEXT_SIZED(BITS)                                                                                     \
    CONTIGUOUS(ctx, CONTEXT_SIZED_NAME, A_CONTEXT, BITS, void) STRIDED(ctx, CONTEXT_SIZED_NAME, A_CONTEXT, BITS, void)

RMA_TYPES(PLAIN_TYPED)
RMA_TYPES(CONTEXT_TYPED)
RMA_SIZES(PLAIN_SIZED)
RMA_SIZES(CONTEXT_SIZED)
CONTIGUOUS(plain, SIZED_NAME, NO_CONTEXT, mem, void)
CONTIGUOUS(ctx, CONTEXT_SIZED_NAME, A_CONTEXT, mem, void)

#define GENERIC_TYPED(NAME, T) TYPED(generic, GENERIC_NAME, NO_CONTEXT, NAME, T)
#define GENERIC_CONTEXT_TYPED(NAME, T) TYPED(generic_ctx, GENERIC_NAME, A_CONTEXT, NAME, T)
DISTINCT_RMA_TYPES(GENERIC_TYPED)
DISTINCT_RMA_TYPES(GENERIC_CONTEXT_TYPED)

#define PLAIN_TYPED_ROW(NAME, T) TYPED_ROW(plain, NAME, T)
#define CONTEXT_TYPED_ROW(NAME, T) TYPED_ROW(ctx, NAME, T)
#define GENERIC_TYPED_ROW(NAME, T) TYPED_ROW(generic, NAME, T)
#define GENERIC_CONTEXT_TYPED_ROW(NAME, T) TYPED_ROW(generic_ctx, NAME, T)
#define PLAIN_SIZED_ROW(BITS) SIZED_ROW(plain, BITS)
#define CONTEXT_SIZED_ROW(BITS) SIZED_ROW(ctx, BITS)

static const struct transfers transfer_table[] = {
    RMA_TYPES(PLAIN_TYPED_ROW) RMA_TYPES(CONTEXT_TYPED_ROW)
    DISTINCT_RMA_TYPES(GENERIC_TYPED_ROW) DISTINCT_RMA_TYPES(GENERIC_CONTEXT_TYPED_ROW)
    RMA_SIZES(PLAIN_SIZED_ROW) RMA_SIZES(CONTEXT_SIZED_ROW) MEM_ROW(plain) MEM_ROW(ctx)
};

#define FOR_EACH_TRANSFER(T)                                                                                    \
    for (const struct transfers *T = transfer_table; T < transfer_table + sizeof transfer_table / sizeof *T; T++)

#endif
