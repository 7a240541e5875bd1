/* The type and size lists of the standard's families, as X(name in symbols, C type). */
#ifndef TYPES_H
#define TYPES_H

#include <stddef.h>
#include <stdint.h>

#define STANDARD_INTEGERS(X)                                                                                    \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)              \
    X(ulonglong, unsigned long long)

/* add, inc, compare_swap and everything that waits or tests */
#define ATOMIC_INTEGERS(X)                                                                                      \
    STANDARD_INTEGERS(X) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)            \
    X(size, size_t) X(ptrdiff, ptrdiff_t)

/* and, or, xor */
#define ATOMIC_BITWISE(X)                                                                                       \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)            \
    X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* fetch, set, swap on top of the integers */
#define ATOMIC_FLOATS(X) X(float, float) X(double, double)

/* put, get and their relatives. The first list has one name for each C type, as type-generic macros need it. */
#define DISTINCT_RMA_TYPES(X)                                                                                   \
    STANDARD_INTEGERS(X) X(float, float) X(double, double) X(longdouble, long double) X(char, char)             \
    X(schar, signed char) X(short, short) X(uchar, unsigned char) X(ushort, unsigned short)

#define RMA_TYPES(X)                                                                                            \
    DISTINCT_RMA_TYPES(X) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)                 \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)               \
    X(ptrdiff, ptrdiff_t)

/* X(bits) */
#define RMA_SIZES(X) X(8) X(16) X(32) X(64) X(128)

#endif
