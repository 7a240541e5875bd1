/* Puts and gets of every form between two PEs: blocking or not, strided, of single elements, on any context. */
#include "random.h"

enum { PUT, PUT_NBI, GET, GET_NBI, IPUT, IGET, P, G, BACK, FORMS };
static const char *const forms[] = {"put", "put_nbi", "get", "get_nbi", "iput", "iget", "p", "g", "put, quiet and get"};

typedef struct {
    int form, size, origin, target, context, plain; /* plain: the routine without a context */
    size_t n;
    ptrdiff_t dst, sst;
    uint64_t key;
} transfer;

#define SIZES(X, CALL) X(1, 8, CALL) X(2, 16, CALL) X(4, 32, CALL) X(8, 64, CALL) X(16, 128, CALL)
#define STRAIGHT(BYTES, BITS, CALL) \
    case BYTES: \
        if (t->plain) \
            shmem_##CALL##BITS(dest, source, t->n, pe); \
        else \
            shmem_ctx_##CALL##BITS(context(t->context), dest, source, t->n, pe); \
        break;
#define STRAIGHT_NBI(BYTES, BITS, CALL) \
    case BYTES: \
        if (t->plain) \
            shmem_##CALL##BITS##_nbi(dest, source, t->n, pe); \
        else \
            shmem_ctx_##CALL##BITS##_nbi(context(t->context), dest, source, t->n, pe); \
        break;
#define STRIDED(BYTES, BITS, CALL) \
    case BYTES: \
        if (t->plain) \
            shmem_##CALL##BITS(dest, source, t->dst, t->sst, t->n, pe); \
        else \
            shmem_ctx_##CALL##BITS(context(t->context), dest, source, t->dst, t->sst, t->n, pe); \
        break;

static void run(const transfer *t, int form, void *dest, const void *source)
{
    const int pe = t->plain ? t->target : number_in(t->context, t->target);
    const shmem_ctx_t on = context(t->context);
    switch (form) {
    case PUT: switch (t->size) { SIZES(STRAIGHT, put) } break;
    case GET: switch (t->size) { SIZES(STRAIGHT, get) } break;
    case PUT_NBI: switch (t->size) { SIZES(STRAIGHT_NBI, put) } break;
    case GET_NBI: switch (t->size) { SIZES(STRAIGHT_NBI, get) } break;
    case IPUT: switch (t->size) { SIZES(STRIDED, iput) } break;
    case IGET: switch (t->size) { SIZES(STRIDED, iget) } break;
    case P:
        for (size_t i = 0; i < t->n; i++)
            switch (t->size) {
            case 1: shmem_ctx_char_p(on, (char *)dest + i, ((const char *)source)[i], pe); break;
            case 2: shmem_ctx_uint16_p(on, (uint16_t *)dest + i, ((const uint16_t *)source)[i], pe); break;
            case 4: shmem_ctx_uint32_p(on, (uint32_t *)dest + i, ((const uint32_t *)source)[i], pe); break;
            default: shmem_ctx_uint64_p(on, (uint64_t *)dest + i, ((const uint64_t *)source)[i], pe);
            }
        break;
    case G:
        for (size_t i = 0; i < t->n; i++)
            switch (t->size) {
            case 1: ((char *)dest)[i] = shmem_ctx_char_g(on, (const char *)source + i, pe); break;
            case 2: ((uint16_t *)dest)[i] = shmem_ctx_uint16_g(on, (const uint16_t *)source + i, pe); break;
            case 4: ((uint32_t *)dest)[i] = shmem_ctx_uint32_g(on, (const uint32_t *)source + i, pe); break;
            default: ((uint64_t *)dest)[i] = shmem_ctx_uint64_g(on, (const uint64_t *)source + i, pe);
            }
        break;
    default: wrong("the program does not know the form", (uint64_t)form, 0);
    }
}

/* The elements of a stream, so far apart. */
static void scatter(char *to, const transfer *t, ptrdiff_t apart)
{
    const size_t size = (size_t)t->size;
    for (size_t i = 0; i < t->n; i++)
        stream(to + i * (size_t)apart * size, t->key, i * size, size);
}

static void put_side(const transfer *t, void *dest, size_t in_bytes)
{
    if (t->form == PUT_NBI) {
        char *source = lend(t->context, in_bytes);
        stream(source, t->key, 0, in_bytes);
        run(t, PUT_NBI, dest, source);
        return;
    }
    char *source = malloc(in_bytes + 1);
    scatter(source, t, t->sst);
    if (t->form == BACK) {
        run(t, in_bytes % 2 ? PUT : PUT_NBI, dest, source);
        quiet_on(t->context);
        char *back = calloc(1, in_bytes + 1);
        run(t, GET, back, dest);
        for (size_t at = 0; at < in_bytes; at++)
            if (back[at] != source[at])
                wrong("a byte that came back", (unsigned char)back[at], (unsigned char)source[at]);
        free(back);
    } else {
        run(t, t->form, dest, source);
    }
    memset(source, 0xEE, in_bytes); /* the call is over, and so is the source */
    free(source);
}

/* What a PE's untouched memory holds since the phase began. */
static void untouched(char *to, char *place, int pe, size_t bytes)
{
    char *word = (char *)((uintptr_t)place & ~(uintptr_t)7);
    size_t skip = (size_t)(place - word);
    for (size_t done = 0; done < bytes; word += 8, skip = 0) {
        const uint64_t content = initial(word, pe);
        const size_t part = bytes - done < 8 - skip ? bytes - done : 8 - skip;
        memcpy(to + done, (const char *)&content + skip, part);
        done += part;
    }
}

static void get_side(const transfer *t, char *source, char *dest, size_t in_bytes, size_t out_bytes)
{
    char *all = malloc(in_bytes + 1);
    const size_t size = (size_t)t->size;
    untouched(all, source, t->target, in_bytes);
    if (t->form == GET_NBI) {
        char *here = lend(t->context, in_bytes);
        memcpy(expected_of(here), all, in_bytes);
        memset(here, 0x11, in_bytes);
        run(t, GET_NBI, here, source);
    } else {
        for (size_t i = 0; i < t->n; i++)
            memcpy((char *)model(dest) + i * (size_t)t->dst * size, all + i * (size_t)t->sst * size, size);
        run(t, t->form, dest, source);
        settled(dest, out_bytes);
    }
    free(all);
}

static void one(int number)
{
    transfer t = {.form = (int)below(FORMS), .size = 1 << below(5), .origin = (int)below((size_t)npes),
        .target = (int)below((size_t)npes), .dst = 1, .sst = 1};
    const int strided = t.form == IPUT || t.form == IGET, single = t.form == P || t.form == G;
    t.context = any_context(t.origin, t.target);
    t.plain = one_in(2) && t.context == 0 && !single;
    if (single && t.size == 16)
        t.size = 8;
    const size_t most = single ? 20 * (size_t)t.size : strided ? 4 << 10 : one_in(5) ? MOST_BYTES / 2 : 70 << 10;
    t.n = any_count((size_t)t.size, most);
    if (strided) {
        t.dst = 1 + (ptrdiff_t)below(5);
        t.sst = 1 + (ptrdiff_t)below(5);
    }
    const size_t size = (size_t)t.size, shift = below(4) * size;
    const size_t in_bytes = t.n ? ((t.n - 1) * (size_t)t.sst + 1) * size : 0, out_bytes = t.n ? ((t.n - 1) * (size_t)t.dst + 1) * size : 0;
    const int puts = t.form == PUT || t.form == PUT_NBI || t.form == IPUT || t.form == P || t.form == BACK;
    snprintf(about, sizeof about, "%s of %zu times %zu bytes from PE %d to PE %d, strides %td and %td, context %d", forms[t.form], t.n,
        size, t.origin, t.target, t.dst, t.sst, t.context);
    room_for(in_bytes + out_bytes + 2 * shift, 3);
    char *there = (char *)fresh(shift + (puts ? out_bytes : in_bytes)) + shift;
    char *here = puts || t.form == GET_NBI ? NULL : fresh(out_bytes);
    t.key = mixed(key_of(t.origin) + (uint64_t)number);
    if (me == t.target && puts)
        scatter(model(there), &t, t.dst);
    if (me == t.origin && puts)
        put_side(&t, there, in_bytes);
    else if (me == t.origin)
        get_side(&t, there, here, in_bytes, out_bytes);
}

void transfers(void)
{
    const size_t count = 1 + below(12), after = below(8);
    for (size_t i = 0; i < count; i++)
        one((int)i);
    if (after == 0)
        shmem_barrier_all();
    else if (after == 1)
        quiet_on(0);
    else if (after == 2)
        shmem_fence();
    else if (after == 3)
        quiet_all();
}
