/* The calls that compilers insert with -fsanitize=thread. Addresses outside of symmetric memory end here. */
#include "race.h"
#include <string.h>

FAST_THREAD_LOCAL int race_depth;

void *race_next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* No life has this memory. */
static const struct race_reach nowhere;
static FAST_THREAD_LOCAL struct race_view view = {.reach = &nowhere};

void race_is_another(void) { view.reach = &nowhere; }

/* Parts of keys and places: crates/race/src/access.rs, and a test there of what is used here. A store differs from a load by one bit of
   its kind, which is 0; the strand and its column lie above the kind. */
enum { KIND = 8, STRAND = 15, HEARD = 6, CALL = 40 };
#define A_STORE ((uint64_t)1 << KIND)
#define A_KIND 0x7f
/* In the second place: a PE changes the cell, or its back half remembers accesses, too. */
#define FLAGS ((uint64_t)3 << 62)

static inline uint64_t word(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

/* Whether a slot has data whose signal the strand has heard. The column of its program is 0. */
static inline int is_heard(uint64_t key, uint32_t low) { return (uint32_t)key >> STRAND == (low >> STRAND | HEARD); }

/* Whether an access needs no order with what a slot has: nothing, one of the strand's program, data that has come to it, or a read beside a
   read. */
static inline int is_free(uint64_t key, uint32_t low, int kind)
{
    return key == 0 || ((uint32_t)key ^ low) >> STRAND == 0 || (kind == RACE_READ && (key >> KIND & A_KIND) == 0) ||
           is_heard(key, low);
}

/* The program's store comes after the key that was put for it: a strand that has awaited its value looks for the key. Processors that keep
   the order of stores spend nothing on it. */
static inline __attribute__((always_inline)) int is_ahead(int kind)
{
    if (kind == RACE_WRITE)
        __atomic_thread_fence(__ATOMIC_RELEASE);
    return 1;
}

/* Puts an access into the place of the same one at an earlier time. Strands that store to other bytes of the cell at the same time are in
   no race, and a wait for what they have stored must find it. So nothing of theirs is overwritten. Where the access has the whole cell,
   they are in a race with it, of which one side may be missed, and a store suffices. The key releases the strand's clock, from which an
   observer of the value learns what the strand knew: it may find the key before the value. */
static inline __attribute__((always_inline)) int is_replaced(uint64_t *at, uint64_t old, uint64_t key, size_t len, int kind)
{
    if (len < 8)
        return __atomic_compare_exchange_n(at, &old, key, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED) && is_ahead(kind);
    __atomic_store_n(at, key, __ATOMIC_RELEASE);
    return is_ahead(kind);
}

/* The front half of the cell with these bytes and, in `within`, where in it they begin. Null if they are in two cells, or where this thread
   has touched nothing in this life. */
static inline __attribute__((always_inline)) struct race_half *cell_of(uintptr_t address, size_t len, size_t *within)
{
    const struct race_reach *reach = view.reach;
    if (reach != __atomic_load_n(&race_reach, __ATOMIC_RELAXED))
        return 0;
    const struct race_part *part = &reach->heap;
    size_t offset = address - part->start;
    if (offset >= part->len) {
        part = &reach->statics;
        offset = address - part->start;
        if (offset >= part->len) {
            part = __atomic_load_n(&view.far, __ATOMIC_RELAXED);
            if (!part || (offset = address - part->start) >= part->len)
                return 0;
        }
    }
    *within = len == 8 ? 0 : offset % 8;
    if (offset % 8 + len > 8)
        return 0;
    /* The same as the index offset / 8, in one instruction. */
    struct race_half *cell = (struct race_half *)((char *)part->fronts + (offset - *within) * (sizeof *cell / 8));
    if (!cell)
        __builtin_unreachable(); /* a part with a length has cells */
    return cell;
}

/* The key of an access that the thread makes now. */
static inline __attribute__((always_inline)) uint64_t key_of(size_t within, size_t len, int kind)
{
    uint64_t mask = (uint64_t)((1u << len) - 1) << within;
    return (uint64_t)__atomic_load_n(view.now, __ATOMIC_RELAXED) << 32 | view.key | (uint64_t)kind << KIND | mask;
}

/* Its place, when code at `pc` makes it. */
static inline __attribute__((always_inline)) uint64_t place_of(int kind, const void *pc)
{
    uintptr_t at = (uintptr_t)pc - view.reach->code;
    return view.place | (uint64_t)kind << CALL | (at < view.reach->code_len ? at : 0);
}

/* Whether the cell remembers this access at this time. A store of the same bytes covers a load. */
static inline __attribute__((always_inline)) int is_there(const struct race_half *cell, uint64_t key, int kind)
{
    uint64_t compared = kind == RACE_READ ? ~A_STORE : ~(uint64_t)0;
    return ((word(&cell->slots[0].key) ^ key) & compared) == 0 || ((word(&cell->slots[1].key) ^ key) & compared) == 0;
}

/* Remembers an access to bytes of one cell if an earlier one is there with others that need no order, or if nothing is, or data in the
   second slot that has come to the strand, and it has the whole cell. The detector learns nothing from it then: an access without an order finds it in the cell. Of two strands that touch the same bytes
   at the very same time without an order one may be missed. Calls nothing, and takes no lock, which a handler of a signal might want. */
static inline __attribute__((always_inline)) int is_renewed(struct race_half *cell, uint64_t key, size_t len, int kind, const void *pc)
{
    uint32_t low = (uint32_t)key;
    uint64_t first = word(&cell->slots[0].key);
    if ((uint32_t)first == low)
        return is_free(word(&cell->slots[1].key), low, kind) && !(word(&cell->slots[1].place) & FLAGS) &&
               word(&cell->slots[0].place) == place_of(kind, pc) && is_replaced(&cell->slots[0].key, first, key, len, kind);
    uint64_t second = word(&cell->slots[1].key);
    if ((uint32_t)second == low)
        return is_free(first, low, kind) && word(&cell->slots[1].place) == place_of(kind, pc) &&
               is_replaced(&cell->slots[1].key, second, key, len, kind);
    /* Where the detector puts the first access too. It finds out itself who has called the module. */
    if (len < 8 || first || (second && !is_heard(second, low)) || word(&cell->slots[1].place) & FLAGS ||
        (uintptr_t)pc - view.reach->module < view.reach->module_len)
        return 0;
    __atomic_store_n(&cell->slots[0].place, place_of(kind, pc), __ATOMIC_RELAXED);
    /* This does what a releasing store of the key does, which the compiler would share with the renewal by a jump. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&cell->slots[0].key, key, __ATOMIC_RELAXED);
    return is_ahead(kind);
}

/* Whether the bytes may be a buffer that is in use. */
static int is_lent(uintptr_t address, size_t len)
{
    const struct race_extent *lent = __atomic_load_n(&race_lent, __ATOMIC_RELAXED);
    for (unsigned i = 0; lent && i < RACE_EXTENTS; i++)
        if (address < __atomic_load_n(&lent[i].end, __ATOMIC_RELAXED) &&
            __atomic_load_n(&lent[i].start, __ATOMIC_RELAXED) < address + len)
            return 1;
    return 0;
}

/* Whether an access to one cell is there or is remembered. */
static int is_remembered(uintptr_t address, size_t len, int kind, const void *pc)
{
    size_t within;
    struct race_half *cell = cell_of(address, len, &within);
    uint64_t key = cell ? key_of(within, len, kind) : 0;
    return cell && (is_there(cell, key, kind) || is_renewed(cell, key, len, kind, pc));
}

/* An access where no buffer is. */
static inline __attribute__((always_inline)) void look_at_free(uintptr_t address, size_t len, int kind, const void *pc)
{
    if (!__builtin_expect(is_watched(address), 0))
        return;
    size_t within;
    struct race_half *cell = len <= 8 ? cell_of(address, len, &within) : 0;
    if (cell) {
        uint64_t key = key_of(within, len, kind);
        if (!is_there(cell, key, kind) && !is_renewed(cell, key, len, kind, pc))
            race_plain(address, len, kind, pc, &view);
    } else if (len != 16 || !is_remembered(address, 8, kind, pc) || !is_remembered(address + 8, 8, kind, pc)) {
        race_plain(address, len, kind, pc, &view);
    }
}

/* A function of its own, so that the usual one saves no registers. */
static __attribute__((noinline)) void look_among_buffers(uintptr_t address, size_t len, int kind, const void *pc)
{
    if (is_lent(address, len))
        race_plain(address, len, kind, pc, 0);
    else
        look_at_free(address, len, kind, pc);
}

static inline __attribute__((always_inline)) void look(const void *at, size_t len, int kind, const void *pc)
{
    if (__builtin_expect(__atomic_load_n(&race_buffers, __ATOMIC_RELAXED), 0))
        look_among_buffers((uintptr_t)at, len, kind, pc);
    else
        look_at_free((uintptr_t)at, len, kind, pc);
}

#define PC __builtin_return_address(0)
#define ACCESS(name, len, kind)                                                                                       \
    void __tsan_##name(void *address);                                                                                 \
    void __tsan_##name(void *address) { look(address, len, kind, PC); }
#define BOTH(len)                                                                                                      \
    ACCESS(read##len, len, RACE_READ)                                                                                  \
    ACCESS(write##len, len, RACE_WRITE)                                                                                \
    ACCESS(unaligned_read##len, len, RACE_READ)                                                                        \
    ACCESS(unaligned_write##len, len, RACE_WRITE)                                                                      \
    ACCESS(volatile_read##len, len, RACE_READ)                                                                         \
    ACCESS(volatile_write##len, len, RACE_WRITE)                                                                       \
    ACCESS(unaligned_volatile_read##len, len, RACE_READ)                                                               \
    ACCESS(unaligned_volatile_write##len, len, RACE_WRITE)                                                             \
    void __tsan_read_write##len(void *address);                                                                        \
    void __tsan_read_write##len(void *address) { look(address, len, RACE_WRITE, PC); }                                  \
    void __tsan_unaligned_read_write##len(void *address);                                                              \
    void __tsan_unaligned_read_write##len(void *address) { look(address, len, RACE_WRITE, PC); }

BOTH(1)
BOTH(2)
BOTH(4)
BOTH(8)
BOTH(16)

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void);
void __tsan_ignore_thread_end(void) {}

void __tsan_read_range(void *address, size_t len);
void __tsan_read_range(void *address, size_t len) { look(address, len, RACE_READ, PC); }
void __tsan_write_range(void *address, size_t len);
void __tsan_write_range(void *address, size_t len) { look(address, len, RACE_WRITE, PC); }
void __tsan_vptr_read(void **address);
void __tsan_vptr_read(void **address) { look(address, sizeof *address, RACE_READ, PC); }
void __tsan_vptr_update(void **address, void *value);
void __tsan_vptr_update(void **address, void *value)
{
    if (*address != value)
        look(address, sizeof *address, RACE_WRITE, PC);
}

/* Copies of memory, which the compiler calls by name. The program is linked with --wrap for them. */
#define COPY(name, copy)                                                                                               \
    void *name(void *to, const void *from, size_t len);                                                                \
    void *name(void *to, const void *from, size_t len)                                                                 \
    {                                                                                                                  \
        if (len > 0) {                                                                                                 \
            look(from, len, RACE_READ, PC);                                                                            \
            look(to, len, RACE_WRITE, PC);                                                                             \
        }                                                                                                              \
        return copy(to, from, len);                                                                                    \
    }
#define FILL(name)                                                                                                     \
    void *name(void *to, int byte, size_t len);                                                                        \
    void *name(void *to, int byte, size_t len)                                                                         \
    {                                                                                                                  \
        if (len > 0)                                                                                                   \
            look(to, len, RACE_WRITE, PC);                                                                             \
        return memset(to, byte, len);                                                                                  \
    }
COPY(__wrap_memcpy, memcpy)
COPY(__wrap_memmove, memmove)
FILL(__wrap_memset)
COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
FILL(__tsan_memset)

/* Atomics of the language are done in the strongest order, and order strands as their order says: in symmetric memory those of all PEs,
   elsewhere the threads of the PE. A relaxed load orders with a fence after it, a relaxed store with a fence before it. In symmetric memory
   a store tells others whatever its order, because shmem_fence and shmem_quiet order stores, too. */
enum { RECENT = 8 };
struct relaxed_load {
    uintptr_t address;
    size_t len;
};
static _Thread_local struct {
    struct relaxed_load loads[RECENT];
    unsigned next;
    int released;
} fences;

static int gives(int order) { return order >= __ATOMIC_RELEASE || fences.released; }
static int takes(int order) { return order == __ATOMIC_CONSUME || order == __ATOMIC_ACQUIRE || order > __ATOMIC_RELEASE; }
/* The order of a comparison that has failed: that of the failure, and not a weaker one than that of success. */
static int either(int order, int failure) { return takes(failure) ? failure : order; }

/* The thread comes after what the value tells that it has loaded. */
static void learn(struct relaxed_load load)
{
    if (is_watched(load.address))
        race_atomic_done(load.address, load.len);
    else if (load.address && race_tells())
        race_acquire(load.address);
}

/* A relaxed load: a fence that comes may order what it has seen. One that would be forgotten for it counts as ordered at once. */
static void loads_relaxed(struct relaxed_load load)
{
    for (unsigned i = 0; i < RECENT; i++)
        if (fences.loads[i].address == load.address && fences.loads[i].len == load.len)
            return;
    struct relaxed_load *oldest = &fences.loads[fences.next++ % RECENT];
    learn(*oldest);
    *oldest = load;
}

/* What an atomic does. */
enum { LOADS = 1, STORES = 2 };

static inline void begin(volatile const void *address, size_t len, int does, int order, const void *pc)
{
    if (is_watched((uintptr_t)address))
        race_atomic((uintptr_t)address, len, does & STORES, pc);
    else if (does & STORES && race_tells() && gives(order))
        race_release((uintptr_t)address);
}

static inline void end(volatile const void *address, size_t len, int order)
{
    struct relaxed_load load = {.address = (uintptr_t)address, .len = len};
    if (takes(order))
        learn(load);
    else if (is_watched(load.address) || race_tells())
        loads_relaxed(load);
}

#define FETCH(bits, type, name, builtin)                                                                               \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                                       \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                                        \
    {                                                                                                                  \
        begin(at, sizeof *at, LOADS | STORES, order, PC);                                              \
        type old = builtin(at, value, __ATOMIC_SEQ_CST);                                                               \
        end(at, sizeof *at, order);                                                                                  \
        return old;                                                                                                    \
    }
#define COMPARE(bits, type, with, name)                                                                                      \
    int __tsan_atomic##bits##_##name(volatile type *at, type *expected, type value, int order, int failure);           \
    int __tsan_atomic##bits##_##name(volatile type *at, type *expected, type value, int order, int failure)            \
    {                                                                                                                  \
        begin(at, sizeof *at, LOADS | STORES, order, PC);                                                                    \
        int done = with##_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
        end(at, sizeof *at, done ? order : either(order, failure));                           \
        return done;                                                                                                   \
    }
#define ATOMIC(bits, type, with)                                                                                             \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                                               \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                                                \
    {                                                                                                                  \
        begin(at, sizeof *at, LOADS, order, PC);                                                                    \
        type value = with##_load_n(at, __ATOMIC_SEQ_CST);                                                              \
        end(at, sizeof *at, order);                                                                    \
        return value;                                                                                                  \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                                        \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                                         \
    {                                                                                                                  \
        begin(at, sizeof *at, STORES, order, PC);                                                                      \
        with##_store_n(at, value, __ATOMIC_SEQ_CST);                                                                   \
    }                                                                                                                  \
    FETCH(bits, type, exchange, with##_exchange_n)                                                                   \
    FETCH(bits, type, fetch_add, with##_fetch_add)                                                                   \
    FETCH(bits, type, fetch_sub, with##_fetch_sub)                                                                   \
    FETCH(bits, type, fetch_and, with##_fetch_and)                                                                   \
    FETCH(bits, type, fetch_or, with##_fetch_or)                                                                     \
    FETCH(bits, type, fetch_xor, with##_fetch_xor)                                                                   \
    FETCH(bits, type, fetch_nand, with##_fetch_nand)                                                                 \
    COMPARE(bits, type, with, compare_exchange_strong)                                                                       \
    COMPARE(bits, type, with, compare_exchange_weak)                                                                         \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type value, int order, int failure);  \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type value, int order, int failure)   \
    {                                                                                                                  \
        begin(at, sizeof *at, LOADS | STORES, order, PC);                                                                    \
        int done = with##_compare_exchange_n(at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
        end(at, sizeof *at, done ? order : either(order, failure));                           \
        return old;                                                                                                    \
    }

ATOMIC(8, uint8_t, __atomic)
ATOMIC(16, uint16_t, __atomic)
ATOMIC(32, uint32_t, __atomic)
ATOMIC(64, uint64_t, __atomic)

/* For 16 bytes the compiler's builtins call libatomic, which a program need not be linked with. The processor has one instruction that all
   of them can be made of; libatomic uses it too. */
#ifdef __x86_64__
typedef unsigned __int128 wide;

/* The orders, and whether it may fail, are those of the builtin. */
static inline int wide_compare_exchange_n(volatile wide *at, wide *expected, wide value, int weak, int order, int failure)
{
    (void)weak, (void)order, (void)failure;
    uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
    uint8_t done;
    __asm__ volatile("lock cmpxchg16b %1\n\tsetz %0"
                     : "=q"(done), "+m"(*at), "+a"(low), "+d"(high)
                     : "b"((uint64_t)value), "c"((uint64_t)(value >> 64))
                     : "memory", "cc");
    *expected = (wide)high << 64 | low;
    return done;
}

static inline wide wide_load_n(const volatile wide *at, int order)
{
    wide seen = 0;
    wide_compare_exchange_n((volatile wide *)at, &seen, 0, 0, order, order);
    return seen;
}

#define WIDE(name, next)                                                                                               \
    static inline wide wide_##name(volatile wide *at, wide value, int order)                                           \
    {                                                                                                                  \
        wide old = wide_load_n(at, order);                                                                             \
        while (!wide_compare_exchange_n(at, &old, next, 0, order, order))                                              \
            ;                                                                                                          \
        return old;                                                                                                    \
    }
WIDE(exchange_n, value)
WIDE(fetch_add, old + value)
WIDE(fetch_sub, old - value)
WIDE(fetch_and, old & value)
WIDE(fetch_or, old | value)
WIDE(fetch_xor, old ^ value)
WIDE(fetch_nand, ~(old & value))

static inline void wide_store_n(volatile wide *at, wide value, int order) { wide_exchange_n(at, value, order); }

ATOMIC(128, wide, wide)
#endif

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (order >= __ATOMIC_RELEASE)
        fences.released = 1;
    for (unsigned i = 0; i < RECENT && takes(order); i++)
        learn(fences.loads[i]);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
