/* The element types of reductions and scans, as X(name in routine names, C type), in the groups of the standard's tables. */
#ifndef REDUCED_TYPES_H
#define REDUCED_TYPES_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNED_TYPES(X) \
    X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) \
    X(ptrdiff, ptrdiff_t)

#define BITWISE_TYPES(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)

#define REAL_TYPES(X) X(float, float) X(double, double) X(longdouble, long double)
#define COMPLEX_TYPES(X) X(complexf, float _Complex) X(complexd, double _Complex)

#define INTEGER_TYPES(X) SIGNED_TYPES(X) BITWISE_TYPES(X)
#define ORDERED_TYPES(X) INTEGER_TYPES(X) REAL_TYPES(X)
#define ARITHMETIC_TYPES(X) ORDERED_TYPES(X) COMPLEX_TYPES(X)

/* The types of the deprecated reductions on active sets. */
#define ACTIVE_INTEGER_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define ACTIVE_ORDERED_TYPES(X) ACTIVE_INTEGER_TYPES(X) REAL_TYPES(X)
#define ACTIVE_ARITHMETIC_TYPES(X) ACTIVE_ORDERED_TYPES(X) COMPLEX_TYPES(X)

#endif
