/* Reductions and scans of every type, in every form, with values whose results do not depend on an order. */
#include "random.h"
#include "types.h"

#include <complex.h>

enum { AND, OR, XOR, MAX, MIN, SUM, PROD, INSCAN, EXSCAN, OPERATORS };
static const char *const operators[] = {"and", "or", "xor", "max", "min", "sum", "prod", "inscan", "exscan"};

typedef struct {
    int operator;
    void *dest, *work;
    const void *source;
    size_t n;
    shmem_req_h *request;
} call;

#define TEAM_CASE(NAME, CASE, OP) \
    case CASE: return c->request ? shmemx_##NAME##_##OP##_reduce_nb(team, c->dest, c->source, c->n, c->request) \
                                 : shmem_##NAME##_##OP##_reduce(team, c->dest, c->source, c->n);
#define SET_CASE(NAME, CASE, OP) \
    case CASE: shmem_##NAME##_##OP##_to_all(c->dest, c->source, (int)c->n, g->start, g->log_stride, g->size, c->work, psync); return;
#define BIT_CASES(CASES, NAME) CASES(NAME, AND, and) CASES(NAME, OR, or) CASES(NAME, XOR, xor)
#define ORDER_CASES(CASES, NAME) CASES(NAME, MAX, max) CASES(NAME, MIN, min)
#define SUM_CASES(CASES, NAME) CASES(NAME, SUM, sum) CASES(NAME, PROD, prod)
#define NONE(CASES, NAME)

/* The calls of a type, and the fold that the model uses. */
#define TYPE(NAME, T, BIT, ORDER, FOLD_BITS, FOLD_ORDER) \
    static int team_##NAME(shmem_team_t team, const call *c) \
    { \
        switch (c->operator) { \
        BIT(TEAM_CASE, NAME) ORDER(TEAM_CASE, NAME) SUM_CASES(TEAM_CASE, NAME) \
        case INSCAN: return shmem_##NAME##_sum_inscan(team, c->dest, c->source, c->n); \
        case EXSCAN: return shmem_##NAME##_sum_exscan(team, c->dest, c->source, c->n); \
        default: return 99; \
        } \
    } \
    static void fold_##NAME(int operator, void *into, const void *more, size_t n) \
    { \
        T *a = into; \
        const T *b = more; \
        for (size_t i = 0; i < n; i++) \
            switch (operator) { \
            FOLD_BITS FOLD_ORDER \
            case PROD: a[i] = (T)(a[i] * b[i]); break; \
            default: a[i] = (T)(a[i] + b[i]); \
            } \
    } \
    static void value_##NAME(void *at, size_t i, long real, long imaginary) { ((T *)at)[i] = (T)(real + imaginary * UNIT(T)); } \
    static int same_##NAME(const void *a, const void *b, size_t i) { return ((const T *)a)[i] == ((const T *)b)[i]; }
#define UNIT(T) _Generic((T)0, float _Complex: _Complex_I, double _Complex: _Complex_I, default: 0)
#define SET_CALL(NAME, BIT, ORDER) \
    static void set_##NAME(const group *g, const call *c, long *psync) \
    { \
        switch (c->operator) { \
        BIT(SET_CASE, NAME) ORDER(SET_CASE, NAME) SUM_CASES(SET_CASE, NAME) \
        } \
    }
#define FOLD_BITS case AND: a[i] = (__typeof__(*a))(a[i] & b[i]); break; case OR: a[i] = (__typeof__(*a))(a[i] | b[i]); break; \
    case XOR: a[i] = (__typeof__(*a))(a[i] ^ b[i]); break;
#define FOLD_ORDER case MAX: a[i] = b[i] > a[i] ? b[i] : a[i]; break; case MIN: a[i] = b[i] < a[i] ? b[i] : a[i]; break;

#define BIT_TYPE(NAME, T, KIND) TYPE(NAME, T, BIT_CASES, ORDER_CASES, FOLD_BITS, FOLD_ORDER)
#define ORDERED_TYPE(NAME, T, KIND) TYPE(NAME, T, NONE, ORDER_CASES, , FOLD_ORDER)
#define SUMMED_TYPE(NAME, T, KIND) TYPE(NAME, T, NONE, NONE, , )
BITS(BIT_TYPE) OLD_INTEGERS(BIT_TYPE) PLAIN_INTEGERS(ORDERED_TYPE) REALS(ORDERED_TYPE) COMPLEXES(SUMMED_TYPE)
#define OLD_SET(NAME, T, KIND) SET_CALL(NAME, BIT_CASES, ORDER_CASES)
#define REAL_SET(NAME, T, KIND) SET_CALL(NAME, NONE, ORDER_CASES)
#define COMPLEX_SET(NAME, T, KIND) SET_CALL(NAME, NONE, NONE)
OLD_INTEGERS(OLD_SET) REALS(REAL_SET) COMPLEXES(COMPLEX_SET)

typedef struct {
    const char *name;
    size_t size;
    int kind, first; /* the first operator that it has */
    int (*team)(shmem_team_t, const call *);
    void (*set)(const group *, const call *, long *);
    void (*fold)(int, void *, const void *, size_t);
    void (*value)(void *, size_t, long, long);
    int (*same)(const void *, const void *, size_t);
} reduced_type;
#define ROW(NAME, T, KIND, FIRST, SET) \
    {#NAME, sizeof(T), KIND, FIRST, team_##NAME, SET, fold_##NAME, value_##NAME, same_##NAME},
#define BIT_ROW(NAME, T, KIND) ROW(NAME, T, KIND, AND, NULL)
#define OLD_ROW(NAME, T, KIND) ROW(NAME, T, KIND, AND, set_##NAME)
#define PLAIN_ROW(NAME, T, KIND) ROW(NAME, T, KIND, MAX, NULL)
#define REAL_ROW(NAME, T, KIND) ROW(NAME, T, KIND, MAX, set_##NAME)
#define COMPLEX_ROW(NAME, T, KIND) ROW(NAME, T, KIND, SUM, set_##NAME)
/* Those of active sets come last. */
static const reduced_type types[] = {BITS(BIT_ROW) PLAIN_INTEGERS(PLAIN_ROW) OLD_INTEGERS(OLD_ROW) REALS(REAL_ROW) COMPLEXES(
    COMPLEX_ROW)};
enum { TYPES = sizeof types / sizeof *types, OLD_TYPES = 9 };

/* The elements of a member: sums of all stay in range, and at most two factors of a product are not 1 or -1. */
static void operands(const reduced_type *t, int operator, int pe, void *to, size_t n)
{
    const uint64_t key = key_of(pe);
    const long most = (t->size == 1 ? 100 : t->size == 2 ? 30000 : t->size == 4 || t->kind == COMPLEX ? 1 << 22 : 1L << 40) / npes;
    const int sign = t->kind != UNSIGNED;
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = mixed(key + i);
        long real = (long)(word >> 20) % (most + 1), imaginary = t->kind == COMPLEX ? (long)(word & 0xffff) : 0;
        if (operator == PROD) {
            real = (int)(i % (size_t)npes) == pe ? 2 + (long)(word >> 32) % 100 : 1;
            imaginary = 0;
            if (t->kind == COMPLEX && word & 2) {
                imaginary = real;
                real = 0;
            }
        }
        if (sign && word & 1) {
            real = -real;
            imaginary = -imaginary;
        }
        t->value(to, i, real, imaginary);
    }
}

/* Compares by value, for zeros have signs and long doubles padding. */
static void check(void *dest, size_t n, int type)
{
    const reduced_type *t = &types[type];
    for (size_t i = 0; t->kind >= REAL && i < n; i++)
        if (t->same(dest, model(dest), i))
            memcpy((char *)model(dest) + i * t->size, (char *)dest + i * t->size, t->size);
    settled(dest, n * t->size);
}

static void expect(const group *of, const reduced_type *t, const call *c)
{
    char *result = model(c->dest), *more = malloc(c->n * t->size + 1);
    const int last = c->operator == INSCAN ? of->my + 1 : c->operator == EXSCAN ? of->my : of->size;
    if (last == 0)
        for (size_t i = 0; i < c->n; i++)
            t->value(result, i, 0, 0);
    for (int member = 0; member < last; member++) {
        operands(t, c->operator, of->member[member], member ? more : result, c->n);
        if (member)
            t->fold(c->operator, result, more, c->n);
    }
    free(more);
}

void reduction(void)
{
    const group of = any_group();
    const int type = of.active ? TYPES - 1 - (int)below(OLD_TYPES) : (int)below(TYPES), in_place = one_in(4), aside = one_in(3);
    const reduced_type *t = &types[type];
    const int last = of.active ? PROD : EXSCAN;
    call c = {.operator = t->first + (int)below((size_t)(last + 1 - t->first)), .n = any_count(t->size, MOST_BYTES)};
    const int request = aside && !of.active && c.operator <= PROD;
    const size_t bytes = c.n * t->size, most = SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    const size_t work = of.active ? t->size * (c.n / 2 + 1 > most ? c.n / 2 + 1 : most) : 0;
    snprintf(about, sizeof about, "%s of %zu %s%s%s, %s", operators[c.operator], c.n, t->name, in_place ? " in place" : "",
        request ? " (nonblocking)" : "", of.name);
    room_for(2 * bytes + work, 4);
    void *source = fresh(bytes);
    c.source = source;
    c.dest = in_place ? source : fresh(bytes);
    c.work = of.active ? fresh(work) : NULL;
    long *psync = of.active ? fresh_psync() : NULL;
    dawdle();
    if (of.my >= 0) {
        memset(source, 0, bytes); /* padding too */
        operands(t, c.operator, me, source, c.n);
        memcpy(model(source), source, bytes);
        expect(&of, t, &c);
        if (c.work)
            undefined(c.work, work);
    }
    /* Where operands are replaced, nobody may call before all have them. */
    if (in_place)
        shmem_sync_all();
    if (of.my < 0)
        return;
    if (of.active) {
        t->set(&of, &c, psync);
        if (!in_place)
            written_again(source, bytes);
        check(c.dest, c.n, type);
        return;
    }
    if (request)
        c.request = new_request(&of);
    if (t->team(of.team, &c) != 0)
        wrong("the call's status", 1, 0);
    if (request)
        under_way(check, c.dest, c.n, type);
    else if (!in_place)
        written_again(source, bytes);
    if (!request)
        check(c.dest, c.n, type);
}
