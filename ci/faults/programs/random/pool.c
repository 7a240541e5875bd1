/* Symmetric memory that is fresh for every call, its model, and the comparison of both. */
#include "random.h"

enum { PLACES = 6000, PSYNCS = 128, PSYNC_WORDS = 16 };

typedef struct {
    size_t at, bytes;
    int step, loose;
    char about[sizeof about];
} place;

static char *pool, *expected;
static place places[PLACES];
static int count, phases, psyncs_used;
static size_t used, filled; /* what the latest phase has filled; the rest is as the first one left it */
static long psyncs[PSYNCS][PSYNC_WORDS];

static uint64_t pattern(size_t at, int pe)
{
    const uint64_t when = at < filled ? (uint64_t)phases : 0;
    return mixed(mixed(when << 40 ^ seed << 8 ^ (uint64_t)pe) + at);
}

_Noreturn void wrong(const char *what, uint64_t found, uint64_t right)
{
    printf("PE %d of %d: seed %llu, step %d: %s: %s: found 0x%016llx, expected 0x%016llx\n", me, npes, (unsigned long long)seed, step,
        about, what, (unsigned long long)found, (unsigned long long)right);
    fflush(stdout);
    shmem_global_exit(1);
    abort();
}

static void fill(size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t word = pattern(at, me);
        memcpy(pool + at, &word, 8);
    }
    memcpy(expected, pool, bytes);
}

static void fill_psyncs(void)
{
    for (int set = 0; set < PSYNCS; set++)
        for (int i = 0; i < PSYNC_WORDS; i++)
            psyncs[set][i] = SHMEM_SYNC_VALUE;
    psyncs_used = 0;
}

/* Compares a part of the pool; names the operation whose place the first difference belongs to, or that lies before it. */
static void compare(size_t from, size_t to)
{
    if (memcmp(pool + from, expected + from, to - from) == 0)
        return;
    size_t at = from;
    while (pool[at] == expected[at])
        at++;
    const place *owner = NULL;
    for (int i = 0; i < count && places[i].at <= at; i++)
        owner = &places[i];
    uint64_t words[2] = {0, 0};
    const size_t word = at & ~(size_t)7;
    memcpy(&words[0], pool + word, 8);
    memcpy(&words[1], expected + word, 8);
    char what[400] = "memory in front of every destination";
    if (owner)
        snprintf(what, sizeof what, "byte %zu of %zu%s of step %d (%s)", at - owner->at, owner->bytes,
            at - owner->at >= owner->bytes ? " (behind the end)" : "", owner->step, owner->about);
    wrong(what, words[0], words[1]);
}

void pool_open(void)
{
    pool = shmem_align(64, POOL);
    expected = malloc(POOL);
    if (!pool || !expected) {
        printf("PE %d: no memory for the pool\n", me);
        shmem_global_exit(2);
    }
    fill(POOL);
    fill_psyncs();
    used = GUARD;
    shmem_barrier_all();
}

void phase(void)
{
    wait_for_all();
    quiet_all();
    shmem_barrier_all();
    for (int i = 0; i < count; i++)
        if (places[i].loose)
            memcpy(expected + places[i].at, pool + places[i].at, places[i].bytes);
    compare(0, used + GUARD);
    for (int set = 0; set < psyncs_used; set++)
        for (int i = 0; i < PSYNC_WORDS; i++)
            if (psyncs[set][i] != SHMEM_SYNC_VALUE)
                wrong("a pSync array was not restored", (uint64_t)psyncs[set][i], SHMEM_SYNC_VALUE);
    phases++;
    filled = used + GUARD > filled ? (used + GUARD + 7) & ~(size_t)7 : filled;
    fill(filled);
    fill_psyncs();
    used = GUARD;
    count = 0;
    shmem_barrier_all();
}

void room_for(size_t bytes, int more)
{
    if (used + bytes + (size_t)(more + 1) * 4 * GUARD > POOL || count + more >= PLACES || psyncs_used + more >= PSYNCS)
        phase();
}

void *fresh(size_t bytes)
{
    /* The start is aligned to 16 bytes, and not always to more. */
    const size_t gap = (below(4) + 4) * 16;
    place *next = &places[count++];
    next->at = (used + gap + 15) & ~(size_t)15;
    next->bytes = bytes;
    next->step = step;
    next->loose = 0;
    memcpy(next->about, about, sizeof about);
    used = next->at + bytes;
    return pool + next->at;
}

void *model(void *at) { return expected + ((char *)at - pool); }

uint64_t initial(void *at, int pe) { return pattern((size_t)((char *)at - pool), pe); }

void settled(void *at, size_t bytes)
{
    const size_t from = (size_t)((char *)at - pool);
    compare(from - GUARD, from + bytes);
    compare(from + bytes, from + bytes + GUARD);
}

void written_again(void *source, size_t bytes)
{
    memset(source, 0xEE, bytes);
    memset(model(source), 0xEE, bytes);
}

void undefined(void *at, size_t bytes)
{
    const size_t from = (size_t)((char *)at - pool);
    for (int i = count - 1; i >= 0; i--)
        if (places[i].at == from && places[i].bytes == bytes)
            places[i].loose = 1;
}

long *fresh_psync(void) { return psyncs[psyncs_used++]; }
