/* Lists of types: X(NAME, TYPE, KIND). */
#ifndef TYPES_H
#define TYPES_H

enum { SIGNED, UNSIGNED, REAL, COMPLEX };

#define WIDE_BITS(X) X(uint, unsigned, UNSIGNED) X(ulong, unsigned long, UNSIGNED) X(ulonglong, unsigned long long, UNSIGNED) \
    X(int32, int32_t, SIGNED) X(int64, int64_t, SIGNED) X(uint32, uint32_t, UNSIGNED) X(uint64, uint64_t, UNSIGNED)
#define BITS(X) WIDE_BITS(X) X(uchar, unsigned char, UNSIGNED) X(ushort, unsigned short, UNSIGNED) X(int8, int8_t, SIGNED) \
    X(int16, int16_t, SIGNED) X(uint8, uint8_t, UNSIGNED) X(uint16, uint16_t, UNSIGNED) X(size, size_t, UNSIGNED)
#define OLD_INTEGERS(X) X(short, short, SIGNED) X(int, int, SIGNED) X(long, long, SIGNED) X(longlong, long long, SIGNED)
#define PLAIN_INTEGERS(X) X(char, char, SIGNED) X(schar, signed char, SIGNED) X(ptrdiff, ptrdiff_t, SIGNED)
#define REALS(X) X(float, float, REAL) X(double, double, REAL) X(longdouble, long double, REAL)
#define COMPLEXES(X) X(complexf, float _Complex, COMPLEX) X(complexd, double _Complex, COMPLEX)
#define MOVED(X) BITS(X) OLD_INTEGERS(X) PLAIN_INTEGERS(X) REALS(X)

#endif
