/* What reductions and scans work on: for every element type, operands that show a wrong width, sign or operator, and the
   right result computed one element at a time. Real operands are chosen so that every order of combination is exact. */
#ifndef TEAMS_OPERANDS_H
#define TEAMS_OPERANDS_H

#include "membership.h"
#include "reduced_types.h"

struct element {
    const char *name;
    size_t size;
    /* The operands of a member; factors are operands whose product is exact. */
    void (*fill)(void *operands, int member, size_t count, bool factors);
    /* Index of the first element that differs, count if none does. */
    size_t (*first_difference)(const void *left, const void *right, size_t count);
};

static inline bool is_factor_negative(uint64_t hash) { return hash >> 40 & 1; }

/* A power of two between 1/2 and 4. */
static inline double small_power(uint64_t hash) { return (double)(1 << (hash >> 50) % 4) / 2; }

/* Integers use all bits; odd factors never wrap to nothing. */
#define INTEGER_OPERAND(T, HASH, MEMBER, FACTORS) ((void)(MEMBER), (T)((FACTORS) ? (HASH) | 1 : (HASH)))

/* Quarters with as many significant bits as leave room for a sum over 16 members. As factors, member 0 has those bits and all
   others are powers of two. */
#define SIGNIFICANT(T) (sizeof(T) == 4 ? 20 : sizeof(T) == 8 ? 49 : 60)
#define REAL_BITS(T, HASH) ((T)((int64_t)(HASH) >> (64 - SIGNIFICANT(T))) / 4)
#define REAL_FACTOR(T, HASH) (T)((is_factor_negative(HASH) ? -1 : 1) * small_power(HASH))
#define REAL_OPERAND(T, HASH, MEMBER, FACTORS) ((FACTORS) && (MEMBER) > 0 ? REAL_FACTOR(T, HASH) : REAL_BITS(T, HASH))

/* Both parts like reals; as factors, all but member 0 are real or imaginary powers of two. */
#define COMPLEX_FACTOR(T, HASH) (REAL_FACTOR(T, HASH) * ((HASH) >> 30 & 1 ? (T)1 : (T)I))
#define COMPLEX_BITS(T, R, HASH) (REAL_BITS(R, HASH) + REAL_BITS(R, mix(HASH, 1)) * (T)I)

#define ELEMENT(NAME, T, OPERAND) \
    static inline void fill_##NAME(void *operands, int member, size_t count, bool factors) { \
        T *of = operands; \
        (void)factors; \
        for (size_t i = 0; i < count; i++) { \
            uint64_t hash = mix((uint64_t)member + 77, i); \
            of[i] = OPERAND(T, hash, member, factors); \
        } \
    } \
    static inline size_t first_difference_##NAME(const void *left, const void *right, size_t count) { \
        const T *l = left, *r = right; \
        size_t i = 0; \
        while (i < count && l[i] == r[i]) i++; \
        return i; \
    } \
    static const struct element element_##NAME = {#NAME, sizeof(T), fill_##NAME, first_difference_##NAME};

#define COMPLEXF_OPERAND(T, HASH, MEMBER, FACTORS) \
    ((FACTORS) && (MEMBER) > 0 ? COMPLEX_FACTOR(T, HASH) : COMPLEX_BITS(T, float, HASH))
#define COMPLEXD_OPERAND(T, HASH, MEMBER, FACTORS) \
    ((FACTORS) && (MEMBER) > 0 ? COMPLEX_FACTOR(T, HASH) : COMPLEX_BITS(T, double, HASH))

#define INTEGER_ELEMENT(NAME, T) ELEMENT(NAME, T, INTEGER_OPERAND)
#define REAL_ELEMENT(NAME, T) ELEMENT(NAME, T, REAL_OPERAND)

INTEGER_TYPES(INTEGER_ELEMENT)
REAL_TYPES(REAL_ELEMENT)
ELEMENT(complexf, float _Complex, COMPLEXF_OPERAND)
ELEMENT(complexd, double _Complex, COMPLEXD_OPERAND)

/* accumulator = accumulator OP operand, for each element. Integers go through uint64_t: defined, and wrapping in the type. */
typedef void fold(void *accumulator, const void *operand, size_t count);

#define FOLD(OP, NAME, T, RESULT) \
    static inline void OP##_##NAME(void *accumulator, const void *operand, size_t count) { \
        T *left = accumulator; \
        const T *right = operand; \
        for (size_t i = 0; i < count; i++) { \
            T a = left[i], b = right[i]; \
            left[i] = RESULT; \
        } \
    }

#define BITWISE_FOLDS(NAME, T) \
    FOLD(and, NAME, T, (T)(a & b)) FOLD(or, NAME, T, (T)(a | b)) FOLD(xor, NAME, T, (T)(a ^ b))
#define ORDERED_FOLDS(NAME, T) FOLD(max, NAME, T, a > b ? a : b) FOLD(min, NAME, T, a < b ? a : b)
#define WRAPPING_FOLDS(NAME, T) \
    FOLD(sum, NAME, T, (T)((uint64_t)a + (uint64_t)b)) FOLD(prod, NAME, T, (T)((uint64_t)a * (uint64_t)b))
#define EXACT_FOLDS(NAME, T) FOLD(sum, NAME, T, a + b) FOLD(prod, NAME, T, a * b)

INTEGER_TYPES(BITWISE_FOLDS)
ORDERED_TYPES(ORDERED_FOLDS)
INTEGER_TYPES(WRAPPING_FOLDS)
REAL_TYPES(EXACT_FOLDS)
COMPLEX_TYPES(EXACT_FOLDS)

enum { LARGEST_ELEMENT = 16 };

/* The result over members 0 to last-1 of a team; the operands of each are those of its team number. */
static inline void combine(void *result, const struct element *element, fold *with, bool factors, int last, size_t count)
{
    static _Alignas(16) unsigned char operands[64 * 1024];
    REQUIRE(count * element->size <= sizeof operands);
    element->fill(result, 0, count, factors);
    for (int member = 1; member < last; member++) {
        element->fill(operands, member, count, factors);
        with(result, operands, count);
    }
}

static inline bool same_elements(const char *what, const struct element *element, const void *got, const void *want, size_t count)
{
    size_t at = element->first_difference(got, want, count);
    if (at < count) fprintf(stderr, "PE %d, %s of %s: element %zu of %zu is wrong\n", me, what, element->name, at, count);
    return at == count;
}

#endif
