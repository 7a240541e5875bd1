/* Atomics on words that one PE or several change, locks, and memory that comes and goes. */
#include "random.h"

enum { ADD, INC, AND, OR, XOR, SET, FETCH_ADD, FETCH_INC, FETCH_AND, FETCH_OR, FETCH_XOR, SWAP, COMPARE, FETCH, KINDS };
static const char *const kinds[] = {"add", "inc", "and", "or", "xor", "set", "fetch_add", "fetch_inc", "fetch_and", "fetch_or",
    "fetch_xor", "swap", "compare_swap", "fetch"};

/* The call; what it fetches goes to *fetched, at once or behind a quiet. */
typedef void (*update)(int kind, int nbi, shmem_ctx_t ctx, void *at, uint64_t value, uint64_t condition, void *fetched, int pe);

#define FETCHING(N, T, KIND, NAME, ...) \
    case KIND: \
        if (nbi) \
            shmem_ctx_##N##_atomic_##NAME##_nbi(ctx, got, at, ##__VA_ARGS__, pe); \
        else \
            *got = shmem_ctx_##N##_atomic_##NAME(ctx, at, ##__VA_ARGS__, pe); \
        return;
#define ARITHMETIC(N, T) \
    case ADD: shmem_ctx_##N##_atomic_add(ctx, at, (T)value, pe); return; \
    case INC: shmem_ctx_##N##_atomic_inc(ctx, at, pe); return; \
    case SET: shmem_ctx_##N##_atomic_set(ctx, at, (T)value, pe); return; \
    FETCHING(N, T, FETCH_ADD, fetch_add, (T)value) \
    FETCHING(N, T, FETCH_INC, fetch_inc) \
    FETCHING(N, T, SWAP, swap, (T)value) \
    FETCHING(N, T, COMPARE, compare_swap, (T)condition, (T)value) \
    FETCHING(N, T, FETCH, fetch)
#define BITWISE(N, T) \
    case AND: shmem_ctx_##N##_atomic_and(ctx, at, (T)value, pe); return; \
    case OR: shmem_ctx_##N##_atomic_or(ctx, at, (T)value, pe); return; \
    case XOR: shmem_ctx_##N##_atomic_xor(ctx, at, (T)value, pe); return; \
    FETCHING(N, T, FETCH_AND, fetch_and, (T)value) \
    FETCHING(N, T, FETCH_OR, fetch_or, (T)value) \
    FETCHING(N, T, FETCH_XOR, fetch_xor, (T)value)
#define UPDATE(N, T, MORE) \
    static void update_##N(int kind, int nbi, shmem_ctx_t ctx, void *at, uint64_t value, uint64_t condition, void *fetched, int pe) \
    { \
        T *got = fetched; \
        switch (kind) { ARITHMETIC(N, T) MORE(N, T) } \
    }
#define NO_MORE(N, T)
#define FULL(X) X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) \
    X(uint32, uint32_t) X(uint64, uint64_t)
#define PLAIN(X) X(int, int) X(long, long) X(longlong, long long) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define FULL_UPDATE(N, T) UPDATE(N, T, BITWISE)
#define PLAIN_UPDATE(N, T) UPDATE(N, T, NO_MORE)
FULL(FULL_UPDATE) PLAIN(PLAIN_UPDATE)

static const struct {
    const char *name;
    size_t size;
    int bitwise;
    update update;
} types[] = {
#define FULL_ROW(N, T) {#N, sizeof(T), 1, update_##N},
#define PLAIN_ROW(N, T) {#N, sizeof(T), 0, update_##N},
    FULL(FULL_ROW) PLAIN(PLAIN_ROW)};
enum { TYPES = sizeof types / sizeof *types };

static uint64_t after(int kind, uint64_t old, uint64_t value, uint64_t condition)
{
    switch (kind) {
    case ADD: case FETCH_ADD: return old + value;
    case INC: case FETCH_INC: return old + 1;
    case AND: case FETCH_AND: return old & value;
    case OR: case FETCH_OR: return old | value;
    case XOR: case FETCH_XOR: return old ^ value;
    case SET: case SWAP: return value;
    case COMPARE: return old == condition ? value : old;
    default: return old;
    }
}

static int any_kind(int type)
{
    int kind;
    do
        kind = (int)below(KINDS);
    while (!types[type].bitwise && ((kind >= AND && kind <= XOR) || (kind >= FETCH_AND && kind <= FETCH_XOR)));
    return kind;
}

/* One PE changes a word, alone and step by step: what each call fetches is known. */
static void by_one(int type)
{
    const int origin = (int)below((size_t)npes), target = (int)below((size_t)npes), on = any_context(origin, target);
    const size_t size = types[type].size, calls = 1 + below(10);
    const uint64_t mask = size == 8 ? ~0ull : 0xffffffffull;
    room_for(8, 1);
    char *word = fresh(8);
    uint64_t now = initial(word, target) & mask;
    for (size_t i = 0; i < calls; i++) {
        const int kind = any_kind(type), nbi = one_in(2), meets = one_in(2);
        const uint64_t value = draw() & mask, condition = meets ? now : draw() & mask, old = now;
        snprintf(about, sizeof about, "%s%s on %s %zu of %zu, PE %d to PE %d, context %d", kinds[kind], nbi && kind >= FETCH_ADD ? "_nbi" : "",
            types[type].name, i, calls, origin, target, on);
        now = after(kind, now, value, condition) & mask;
        if (me != origin)
            continue;
        void *fetched = lend(on, 8);
        uint64_t *expected = expected_of(fetched);
        memset(fetched, 0x22, 8);
        memset(expected, 0x22, 8);
        if (kind >= FETCH_ADD)
            memcpy(expected, &old, size);
        types[type].update(kind, nbi && kind >= FETCH_ADD, context(on), word, value, condition, fetched, number_in(on, target));
        if (kind >= FETCH_ADD && !nbi && memcmp(fetched, expected, 8) != 0) {
            uint64_t found;
            memcpy(&found, fetched, 8);
            wrong("what was fetched", found, *expected);
        }
        quiet_on(on); /* the next call must not overtake this one */
    }
    if (me == target)
        memcpy(model(word), &now, size);
}

/* All PEs change a word by operations that commute; what each fetches grows. */
static void by_all(int type)
{
    static const int kinds_of_all[] = {ADD, INC, XOR, FETCH_ADD, FETCH_INC, FETCH_XOR};
    const int chosen = kinds_of_all[below(types[type].bitwise ? 6 : 2)], target = (int)below((size_t)npes), on = any_context(0, target);
    const size_t size = types[type].size, calls = 1 + below(12);
    const uint64_t mask = size == 8 ? ~0ull : 0xffffffffull;
    snprintf(about, sizeof about, "%zu times %s on %s by all PEs to PE %d", calls, kinds[chosen], types[type].name, target);
    room_for(8, 1);
    char *word = fresh(8);
    const uint64_t first = initial(word, target) & mask;
    uint64_t now = first, before = 0;
    for (int pe = 0; pe < npes; pe++)
        for (size_t i = 0; i < calls; i++)
            now = after(chosen, now, mixed(key_of(pe) + i), 0) & mask;
    const int mine = number_in(on, target) < 0 ? 0 : on;
    for (size_t i = 0; i < calls; i++) {
        uint64_t found = 0;
        types[type].update(chosen, 0, context(mine), word, mixed(key_of(me) + i) & mask, 0, &found, number_in(mine, target));
        const uint64_t distance = (found - first) & mask;
        if (chosen == FETCH_INC && (distance >= calls * (size_t)npes || (i && distance <= before)))
            wrong("a ticket", found, first + before);
        before = distance;
    }
    if (me == target)
        memcpy(model(word), &now, size);
}

void atomics(void)
{
    for (size_t words = 1 + below(4); words; words--) {
        const int type = (int)below(TYPES);
        if (one_in(3))
            by_all(type);
        else
            by_one(type);
    }
}

/* A counter that everybody reads and writes while it holds the lock. */
void lock_steps(void)
{
    static long locks[4];
    long *lock = &locks[below(4)];
    const int target = (int)below((size_t)npes), polls = one_in(3);
    const size_t times = 1 + below(3);
    const uint64_t who = draw() | 1;
    snprintf(about, sizeof about, "%zu turns under a lock, the counter on PE %d", times, target);
    room_for(8, 1);
    uint64_t *counter = fresh(8), members = 0;
    for (int pe = 0; pe < npes; pe++)
        members += who >> pe & 1;
    for (size_t i = 0; i < times && who >> me & 1; i++) {
        if (polls)
            while (shmem_test_lock(lock)) {
                poll_requests();
                usleep(50);
            }
        else
            shmem_set_lock(lock);
        shmem_uint64_p(counter, shmem_uint64_g(counter, target) + 1, target);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
    const uint64_t last = initial(counter, target) + members * times;
    if (me == target)
        memcpy(model(counter), &last, 8);
}

/* Memory that is allocated, used in a collective and in a put, and freed behind them. */
void allocation(void)
{
    const int how = (int)below(3), root = (int)below((size_t)npes), distance = (int)below((size_t)npes), aligned = 1 << (4 + below(9));
    const size_t n = any_count(8, one_in(6) ? 4 << 20 : 128 << 10);
    snprintf(about, sizeof about, "a broadcast of %zu words from PE %d in memory that is freed then", n, root);
    room_for(8 * n, 1);
    uint64_t *source = fresh(8 * n), *memory;
    const size_t all = 2 * n + 2;
    memory = how == 0 ? shmem_malloc(8 * all) : how == 1 ? shmem_calloc(all, 8) : shmem_align((size_t)aligned, 8 * all);
    if (!memory)
        wrong("no memory", 0, 8 * all);
    for (size_t i = 0; how == 1 && i < all; i++)
        if (memory[i])
            wrong("a word of zeroed memory", memory[i], 0);
    if (how == 1)
        shmem_sync_all(); /* nobody writes before all have looked */
    stream(source, key_of(me), 0, 8 * n);
    memcpy(model(source), source, 8 * n);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, memory, source, n, root);
    shmem_uint64_put_nbi(memory + n, source, n, (me + distance) % npes);
    uint64_t *expected = malloc(8 * n + 8);
    stream(expected, key_of(root), 0, 8 * n);
    for (size_t i = 0; i < n; i++)
        if (memory[i] != expected[i])
            wrong("a word of the broadcast", memory[i], expected[i]);
    const int looks = one_in(2);
    if (looks) {
        shmem_barrier_all();
        stream(expected, key_of((me + npes - distance) % npes), 0, 8 * n);
        for (size_t i = 0; i < n; i++)
            if (memory[n + i] != expected[i])
                wrong("a word of the put", memory[n + i], expected[i]);
    }
    free(expected);
    shmem_free(memory);
}
