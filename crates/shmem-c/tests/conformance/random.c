/* Operations at random, checked against a model.
 *
 * Everybody owns a slice of everybody's memory, one for each context, and alone writes there: so an owner can know at any
 * time what its slices hold. What was issued and is not yet ordered is remembered; an operation that touches it is
 * preceded by the fence or the quiet that the standard asks for, and by no more. After a round owners read their slices
 * back, and the PEs whose memory it is compare checksums of what they see with plain loads.
 */
#include "check.h"

enum { CONTEXTS = 3, PLACES = 2, PENDING = 64, STATIC_BYTES = 1 << 20 };

static _Alignas(64) unsigned char static_bytes[STATIC_BYTES];
static uint64_t *sums; /* one for each context, place and owner */

static shmem_ctx_t contexts[CONTEXTS];
static int reversed[CONTEXTS]; /* PE numbers on this context count downwards */

/* A part of a slice that was touched since the last quiet. After a fence it may be written again, but who reads it needs
 * a quiet: a fence does not order gets. */
struct touched {
    size_t begin, end;
    enum { WRITTEN, FENCED, READ } how;
};

/* What a pending get has to find. */
struct expectation {
    unsigned char *found, *expected;
    size_t bytes;
};

/* One owner's part of one PE's memory. */
struct slice {
    unsigned char *address; /* symmetric */
    unsigned char *model;
    size_t bytes;
    struct touched touched[PENDING];
    int count;
};

static struct slice *slices[CONTEXTS]; /* for each PE and place */
static struct expectation expectations[CONTEXTS][PENDING];
static int expected_count[CONTEXTS];
static unsigned char *pool[CONTEXTS]; /* local buffers that belong to pending operations */
static size_t pool_bytes, pool_used[CONTEXTS];

static uint64_t dice;

static uint64_t roll(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice * 0x2545F4914F6CDD1Du >> 11;
}

static size_t below(size_t bound) { return bound ? roll() % bound : 0; }

/* Short lengths are as likely as long ones. */
static size_t length_up_to(size_t most)
{
    size_t bits = 0;
    while ((size_t)1 << bits <= most)
        bits++;
    size_t bound = (size_t)1 << below(bits + 1);
    return below((bound < most ? bound : most) + 1);
}

static void settle(int c)
{
    shmem_ctx_quiet(contexts[c]);
    for (int i = 0; i < expected_count[c]; i++) {
        struct expectation *e = &expectations[c][i];
        CHECK(memcmp(e->found, e->expected, e->bytes) == 0);
    }
    expected_count[c] = 0;
    pool_used[c] = 0;
    for (int i = 0; i < npes * PLACES; i++)
        slices[c][i].count = 0;
}

/* A fence orders writes towards each PE; gets stay pending. */
static void order(int c)
{
    shmem_ctx_fence(contexts[c]);
    for (int i = 0; i < npes * PLACES; i++)
        for (int j = 0; j < slices[c][i].count; j++)
            if (slices[c][i].touched[j].how == WRITTEN)
                slices[c][i].touched[j].how = FENCED;
}

/* Makes it right to write (or to read) a part of the slice, and remembers that it is being done. Afterwards there is room
 * for local buffers of `buffers` bytes. */
static void touch(int c, struct slice *s, size_t begin, size_t bytes, int read, size_t buffers)
{
    int fence = 0, quiet = s->count == PENDING || expected_count[c] == PENDING || pool_used[c] + buffers + 256 > pool_bytes;
    for (int i = 0; i < s->count; i++) {
        const struct touched *t = &s->touched[i];
        if (t->begin < begin + bytes && begin < t->end) {
            fence |= t->how == WRITTEN;
            quiet |= read ? t->how != READ : t->how == READ;
        }
    }
    if (quiet)
        settle(c);
    else if (fence)
        order(c);
    s->touched[s->count++] = (struct touched){begin, begin + bytes, read ? READ : WRITTEN};
}

/* A local buffer for an operation; it stays valid until the context's next quiet. */
static unsigned char *local(int c, size_t bytes)
{
    unsigned char *buffer = pool[c] + pool_used[c] + below(8) * 8;
    pool_used[c] += (bytes + 64 + 7) / 8 * 8;
    REQUIRE(pool_used[c] <= pool_bytes);
    return buffer;
}

static unsigned char *fresh(int c, size_t bytes)
{
    unsigned char *buffer = local(c, bytes);
    uint64_t word = roll();
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (unsigned char)((word += 0x9E3779B97F4A7C15u) >> 56);
    return buffer;
}

static void contiguous(int c, struct slice *s, int pe)
{
    size_t bytes = length_up_to(s->bytes), at = below(s->bytes - bytes + 1);
    touch(c, s, at, bytes, 0, bytes);
    unsigned char *source = fresh(c, bytes);
    memcpy(s->model + at, source, bytes);
    if (roll() & 1) {
        shmem_ctx_putmem_nbi(contexts[c], s->address + at, source, bytes, pe);
    } else {
        shmem_ctx_putmem(contexts[c], s->address + at, source, bytes, pe);
        memset(source, 0xEE, bytes);
    }
}

static void contiguous_get(int c, struct slice *s, int pe)
{
    size_t bytes = length_up_to(s->bytes), at = below(s->bytes - bytes + 1);
    touch(c, s, at, bytes, 1, 2 * bytes);
    unsigned char *found = local(c, bytes), *expected = local(c, bytes);
    memcpy(expected, s->model + at, bytes);
    memset(found, 0xEE, bytes);
    if (roll() & 1) {
        shmem_ctx_getmem_nbi(contexts[c], found, s->address + at, bytes, pe);
        expectations[c][expected_count[c]++] = (struct expectation){found, expected, bytes};
    } else {
        shmem_ctx_getmem(contexts[c], found, s->address + at, bytes, pe);
        CHECK(memcmp(found, expected, bytes) == 0);
    }
}

static void strided(int c, struct slice *s, int pe)
{
    size_t target = 1 + below(5), source = 1 + below(3), words = s->bytes / 2;
    size_t count = length_up_to((words - 1) / target < 2000 ? (words - 1) / target : 2000);
    size_t at = below(words - count * target + 1);
    touch(c, s, at * 2, count * target * 2, 0, count * source * 2);
    int16_t *from = (int16_t *)fresh(c, count * source * 2), *model = (int16_t *)s->model + at;
    for (size_t i = 0; i < count; i++)
        model[i * target] = from[i * source];
    shmem_ctx_int16_iput(contexts[c], (int16_t *)s->address + at, from, (ptrdiff_t)target, (ptrdiff_t)source, count, pe);
}

static void blocks(int c, struct slice *s, int pe)
{
    size_t block = 1 + below(6), target = block + below(5), source = block + below(3), words = s->bytes / 4;
    size_t count = length_up_to((words - 1) / target < 500 ? (words - 1) / target : 500);
    size_t at = below(words - count * target + 1);
    touch(c, s, at * 4, count * target * 4, 0, count * source * 4);
    int32_t *from = (int32_t *)fresh(c, count * source * 4), *model = (int32_t *)s->model + at;
    for (size_t i = 0; i < count; i++)
        memcpy(model + i * target, from + i * source, block * 4);
    shmem_ctx_int32_ibput(contexts[c], (int32_t *)s->address + at, from, (ptrdiff_t)target, (ptrdiff_t)source, block, count, pe);
}

static void strided_get(int c, struct slice *s, int pe)
{
    size_t source = 1 + below(5), target = 1 + below(3), words = s->bytes / 8;
    size_t count = length_up_to((words - 1) / source < 500 ? (words - 1) / source : 500);
    size_t at = below(words - count * source + 1);
    touch(c, s, at * 8, count * source * 8, 1, count * target * 8);
    int64_t *to = (int64_t *)local(c, count * target * 8), *model = (int64_t *)s->model + at;
    shmem_ctx_int64_iget(contexts[c], to, (int64_t *)s->address + at, (ptrdiff_t)target, (ptrdiff_t)source, count, pe);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(to[i * target], model[i * source]);
}

static void single(int c, struct slice *s, int pe)
{
    size_t at = below(s->bytes / 4);
    touch(c, s, at * 4, 4, 0, 0);
    int32_t value = (int32_t)roll();
    ((int32_t *)s->model)[at] = value;
    shmem_ctx_int32_p(contexts[c], (int32_t *)s->address + at, value, pe);
}

static void single_get(int c, struct slice *s, int pe)
{
    size_t at = below(s->bytes / 4);
    touch(c, s, at * 4, 4, 1, 0);
    CHECK_EQ(shmem_ctx_int32_g(contexts[c], (int32_t *)s->address + at, pe), ((int32_t *)s->model)[at]);
}

static void atomic(int c, struct slice *s, int pe)
{
    size_t at = below(s->bytes / 8);
    touch(c, s, at * 8, 8, 0, 0);
    uint64_t *address = (uint64_t *)s->address + at, *model = (uint64_t *)s->model + at, old = *model, value = roll();
    uint64_t found = old;
    shmem_ctx_t ctx = contexts[c];
    switch (below(9)) {
    case 0: shmem_ctx_uint64_atomic_add(ctx, address, value, pe), *model += value; break;
    case 1: shmem_ctx_uint64_atomic_inc(ctx, address, pe), *model += 1; break;
    case 2: shmem_ctx_uint64_atomic_xor(ctx, address, value, pe), *model ^= value; break;
    case 3: shmem_ctx_uint64_atomic_set(ctx, address, value, pe), *model = value; break;
    case 4: found = shmem_ctx_uint64_atomic_fetch_add(ctx, address, value, pe), *model += value; break;
    case 5: found = shmem_ctx_uint64_atomic_swap(ctx, address, value, pe), *model = value; break;
    case 6: found = shmem_ctx_uint64_atomic_fetch_or(ctx, address, value, pe), *model |= value; break;
    case 7: found = shmem_ctx_uint64_atomic_compare_swap(ctx, address, old, value, pe), *model = value; break;
    case 8: found = shmem_ctx_uint64_atomic_compare_swap(ctx, address, ~old, value, pe); break;
    }
    CHECK_EQ(found, old);
}

static void with_signal(int c, struct slice *s, int pe)
{
    size_t signal = below(s->bytes / 8), room = s->bytes - signal * 8 - 8;
    size_t bytes = length_up_to(room), at = signal * 8 + 8 + below(room - bytes + 1);
    touch(c, s, signal * 8, at + bytes - signal * 8, 0, bytes);
    unsigned char *source = fresh(c, bytes);
    uint64_t value = roll(), *model = (uint64_t *)s->model + signal;
    int how = roll() & 1 ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    memcpy(s->model + at, source, bytes);
    *model = how == SHMEM_SIGNAL_SET ? value : *model + value;
    uint64_t *address = (uint64_t *)s->address + signal;
    if (roll() & 1) {
        shmem_ctx_putmem_signal_nbi(contexts[c], s->address + at, source, bytes, address, value, how, pe);
    } else {
        shmem_ctx_putmem_signal(contexts[c], s->address + at, source, bytes, address, value, how, pe);
        memset(source, 0xEE, bytes);
    }
}

static uint64_t checksum(const unsigned char *bytes, size_t count)
{
    uint64_t sum = count;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 0x100000001B3u;
    return sum;
}

static void compare(int c, int place, int pe, int named)
{
    struct slice *s = &slices[c][pe * PLACES + place];
    unsigned char *found = malloc(s->bytes);
    shmem_ctx_getmem(contexts[c], found, s->address, s->bytes, named);
    size_t same = 0;
    while (same < s->bytes && found[same] == s->model[same])
        same++;
    CHECK_EQ(same, s->bytes);
    free(found);
    size_t index = ((size_t)c * PLACES + (size_t)place) * (size_t)npes + (size_t)me;
    shmem_uint64_p(&sums[index], checksum(s->model, s->bytes), pe);
}

static void open_slices(size_t heap_bytes)
{
    unsigned char *heap = shmem_align(64, heap_bytes * CONTEXTS * (size_t)npes);
    sums = shmem_calloc((size_t)CONTEXTS * PLACES * (size_t)npes, sizeof *sums);
    REQUIRE(heap && sums);
    memset(heap, 0, heap_bytes * CONTEXTS * (size_t)npes);
    size_t static_slice = (size_t)STATIC_BYTES / CONTEXTS / (size_t)npes / 64 * 64;
    size_t sizes[PLACES] = {heap_bytes, static_slice < heap_bytes ? static_slice : heap_bytes};
    unsigned char *bases[PLACES] = {heap, static_bytes};
    shmem_team_t backwards;
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &backwards) == 0);
    contexts[0] = SHMEM_CTX_DEFAULT;
    REQUIRE(shmem_ctx_create(SHMEM_CTX_PRIVATE, &contexts[1]) == 0);
    REQUIRE(shmem_team_create_ctx(backwards, 0, &contexts[2]) == 0);
    reversed[2] = 1;
    pool_bytes = heap_bytes * 8 + 4096;
    for (int c = 0; c < CONTEXTS; c++) {
        pool[c] = malloc(pool_bytes);
        slices[c] = calloc((size_t)npes * PLACES, sizeof *slices[c]);
        for (int i = 0; i < npes * PLACES; i++) {
            int place = i % PLACES;
            unsigned char *address = bases[place] + ((size_t)c * (size_t)npes + (size_t)me) * sizes[place];
            slices[c][i] = (struct slice){.address = address, .model = calloc(1, sizes[place]), .bytes = sizes[place]};
        }
    }
    shmem_barrier_all();
}

static void play(size_t heap_bytes, int rounds, int operations)
{
    static void (*const kinds[])(int c, struct slice *s, int pe) = {
        contiguous, contiguous, contiguous_get, strided, blocks, strided_get, single, single_get, atomic, atomic, with_signal,
    };
    open_slices(heap_bytes);
    const char *seed = getenv("CHECK_SEED");
    dice = (seed ? strtoull(seed, NULL, 0) : 1) * 0x9E3779B97F4A7C15u + (uint64_t)me * 0xD1342543DE82EF95u + 1;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < operations; i++) {
            int c = (int)below(CONTEXTS), pe = (int)below((size_t)npes), named = reversed[c] ? npes - 1 - pe : pe;
            struct slice *s = &slices[c][pe * PLACES + (int)below(PLACES)];
            kinds[below(sizeof kinds / sizeof *kinds)](c, s, named);
            if (below(16) == 0)
                order(c);
            if (below(32) == 0)
                settle(c);
        }
        for (int c = 0; c < CONTEXTS; c++)
            settle(c);
        for (int c = 0; c < CONTEXTS; c++)
            for (int i = 0; i < npes * PLACES; i++)
                compare(c, i % PLACES, i / PLACES, reversed[c] ? npes - 1 - i / PLACES : i / PLACES);
        shmem_barrier_all();
        for (int c = 0; c < CONTEXTS; c++)
            for (int i = 0; i < npes * PLACES; i++) {
                int owner = i / PLACES, place = i % PLACES;
                struct slice *s = &slices[c][i];
                const unsigned char *theirs = s->address + (ptrdiff_t)(owner - me) * (ptrdiff_t)s->bytes;
                size_t index = ((size_t)c * PLACES + (size_t)place) * (size_t)npes + (size_t)owner;
                CHECK_EQ(sums[index], checksum(theirs, s->bytes));
            }
        shmem_barrier_all();
    }
}

TEST(RMA_1_random_short, "operations of every kind at random on short slices, against a model",
     .also = "RMA-2 RMA-5 RMA-6 ORD-1 ORD-2 ORD-3 AMO-4 SIG-3 SIG-8 CTX-2 CTX-4")
{
    play(256, 6, 400);
}

TEST(RMA_1_random_long, "operations of every kind at random, up to 200 kB each, against a model",
     .also = "RMA-2 RMA-5 RMA-6 ORD-1 ORD-2 ORD-3 AMO-4 SIG-3 SIG-8 CTX-2 CTX-4")
{
    play(200000, 3, 100);
}
