/* Sums and products of the two floating-point types that Rust cannot name. Each loop is running[i] = running[i] op
 * next[i]. Maximum and minimum need no arithmetic: they are integer comparisons, done in Rust (see float_order.rs). */

#include <float.h>
#include <stddef.h>

_Static_assert(sizeof(long double) == 16, "oxshmem needs a 16-byte long double; this C compiler's differs");

#if LDBL_MANT_DIG == 113
typedef long double binary128;
#elif LDBL_MANT_DIG != 64
#error "oxshmem knows long double as x87 extended or IEEE binary128; this C compiler's is neither"
#elif defined(__SIZEOF_FLOAT128__)
typedef __float128 binary128;
#else
#error "oxshmem needs __float128 for Fortran REAL*16; this C compiler lacks it: set CC to gcc or to a clang that has it"
#endif

#define LOOP(name, type, op)                                                                                           \
    void oxshmem_##name(type *running, const type *next, size_t n);                                                    \
    void oxshmem_##name(type *running, const type *next, size_t n) {                                                   \
        for (size_t i = 0; i < n; i++) running[i] = running[i] op next[i];                                             \
    }

LOOP(long_double_sum, long double, +)
LOOP(long_double_prod, long double, *)
LOOP(quad_sum, binary128, +)
LOOP(quad_prod, binary128, *)

#define CONVERSIONS(name, type)                                                                                        \
    void oxshmem_##name##_from_f64(type *to, double from);                                                             \
    void oxshmem_##name##_from_f64(type *to, double from) { *to = from; }                                              \
    double oxshmem_##name##_to_f64(const type *from);                                                                  \
    double oxshmem_##name##_to_f64(const type *from) { return (double)*from; }

CONVERSIONS(long_double, long double)
CONVERSIONS(quad, binary128)
