/* What the detector is told. The Rust side is in src/. */
#ifndef OXSHMEM_RACE_H
#define OXSHMEM_RACE_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>
#include <stddef.h>
#include <stdint.h>

/* The IEEE type of 128 bits, which is long double where the processor has no other. */
#if __LDBL_MANT_DIG__ == 113
typedef long double real16_t;
#else
typedef __float128 real16_t;
#endif

/* The library is there when the program begins, never later. */
#define FAST_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* Data of this library, whose address needs no table. */
#define HIDDEN __attribute__((visibility("hidden")))

/* Where a call is made, and the number of the routine. */
#define AT(call) __builtin_return_address(0), (uint16_t)(call)
#define SITE const void *pc, uint16_t call

/* The library's routine of the same name, where it has no profiling name. */
#define NEXT(name) ((__typeof__(&name))race_next(#name))

void *race_next(const char *name);

/* What the detector asks of the library and of the program's language. The Rust side has the same type. */
struct race_library {
    int (*my_pe)(void);
    int (*n_pes)(void);
    void (*barrier_all)(void);
    void (*query_thread)(int *provided);
    void (*query_initialized)(int *initialized);
    void *(*allocate)(size_t size);
    void (*release)(void *block);
    void (*getmem)(void *dest, const void *source, size_t len, int pe);
    void *(*address_of)(const void *address, int pe);
    int (*accessible)(const void *address, int pe);
    int (*team_my_pe)(shmem_team_t team);
    int (*team_n_pes)(shmem_team_t team);
    int (*team_translate_pe)(shmem_team_t team, int pe, shmem_team_t other);
    int (*team_of)(shmem_ctx_t ctx, shmem_team_t *team);
    int (*is_team)(shmem_team_t team);
    int (*is_context)(shmem_ctx_t ctx);
    shmem_team_t world;
    shmem_team_t shared;
    shmem_team_t node;
    shmem_ctx_t default_context;
    const char *(*call_name)(uint16_t call);
    uint64_t (*this_thread)(void);
    void (*is_another)(void);
    void (*found)(int status);
    int in_rust;
};
void race_begin_with(const struct race_library *library);

void race_prepare(void);
void race_found(int status);
/* The status with which the process ends where the program says this one: that of races in place of 0, if it has reported any. */
int race_status(int status);
const int *race_status_at(const int *status);
/* In C the argument is a number, in Fortran its address. */
#define RACE_ENDS(status) ((status) = _Generic((status), int: race_status, default: race_status_at)(status))
/* Leaves alone what the process forks from now on. */
void race_watch_forks(void);
void race_begin(void);
/* The library ends: has the detector begun? */
void race_unbegun(void);
void race_unwatched(void);
uint64_t race_ending(void);
void race_ended(uint64_t meeting);

/* A call of OpenSHMEM begins: may this thread make it? */
void race_called(SITE);

void race_allocated(void *block, size_t size, SITE);
void race_freed(void *block);

void race_transfer(shmem_ctx_t ctx, void *dest, const void *source, size_t len, int pe, int is_put, int nonblocking,
                   SITE);
void race_blocks(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                 size_t count, int pe, int is_put, SITE);
void race_put_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t len, uint64_t *signal, int pe,
                     int nonblocking, SITE);
/* What an atomic does; one that changes nothing, waits for its value and works on integers is 0. */
enum { RACE_UPDATES = 1, RACE_NONBLOCKING = 2, RACE_FLOATING = 4 };
void race_update(shmem_ctx_t ctx, void *dest, size_t len, int pe, int does, SITE);
void race_fetch(shmem_ctx_t ctx, const void *place, size_t len, int pe, int does, SITE);
void race_fill(shmem_ctx_t ctx, void *fetch, size_t len, SITE);
void race_fetched(shmem_ctx_t ctx, const void *place, size_t len, int pe);

void race_wait(const void *ivar, size_t len);
void race_wait_all(const void *ivars, size_t nelems, const int *status, size_t len);
void race_wait_some(const void *ivars, const size_t *indices, size_t count, size_t len);

void race_fence(shmem_ctx_t ctx);
void race_quiet(shmem_ctx_t ctx);
void race_pe_quiet(shmem_ctx_t ctx, const int *pes, size_t count);
void race_sources_over(void);

void race_locked(const void *lock);
void race_unlocking(const void *lock);

uint64_t race_enter_world(int completes);
uint64_t race_enter_team(shmem_team_t team, int completes, int root);
/* Each member of a scan comes after those below it, and not after those above it. */
uint64_t race_enter_scan(shmem_team_t team);
uint64_t race_enter_set(int start, int log_stride, int size, const void *sync, int completes, int root);
void race_leave(uint64_t meeting);
/* A team was split; the caller is in the new ones that are valid. A team ends, and the contexts that were made from it end too. */
void race_split(shmem_team_t parent, shmem_team_t one, shmem_team_t other);
void race_team_ends(shmem_team_t team);
void race_contexts_over(void);
size_t race_size(shmem_team_t team);
int race_is_root_of(shmem_team_t team, int root);
int race_is_root(int start, int log_stride, int root);
void race_use(void *dest, size_t dest_len, const void *source, size_t source_len, SITE);
void race_use_strided(void *dest, ptrdiff_t dst, const void *source, ptrdiff_t sst, size_t len, size_t count, SITE);
void race_pieces(const void *array, const size_t *offsets, const size_t *sizes, size_t count, int writes, SITE);
void race_requested(shmem_req_h request, uint64_t meeting, void *dest, size_t dest_len, const void *source,
                    size_t source_len, SITE);
void race_request_over(shmem_req_h request);

/* Strands: threads, and work that another thread might have done. Names of objects are addresses, or numbers below 2^16. */
uint32_t race_strand(void);
uint32_t race_fork(int section);
uint32_t race_become(uint32_t strand);
uint32_t race_become_from(uint64_t object);
void race_strand_over(uint32_t strand);
void race_joined(uint32_t strand);
void race_release(uint64_t object);
void race_acquire(uint64_t object);
void race_barrier_made(uintptr_t barrier, unsigned count);
unsigned race_barrier_round(uintptr_t barrier);
/* A thread that may be joined has this handle: called by itself and by who has made it, with a word that is 0 at first. Not 0: the caller is
   the second. */
_Bool race_thread_made(uint64_t thread, uint32_t strand, _Bool *is_known);
void race_thread_detached(uint64_t thread);
/* A thread that is about to be joined, for the call behind that: another one may have its handle then. */
uint64_t race_thread_known(uint64_t thread);
void race_thread_joined(uint64_t thread, uint64_t known);
uint64_t race_this_thread(void);
/* Whether a runtime of OpenMP tells what its threads do, and whether an address is in its code. */
int race_runtime_tells(void);
int race_is_runtime(const void *pc);
/* Not 0 as soon as there have been several strands. */
extern uint32_t race_threaded;
/* Not 0 inside a call of OpenSHMEM: the detector ignores what the library does with threads. */
extern FAST_THREAD_LOCAL int race_depth;

static inline int race_tells(void) { return race_depth == 0 && __atomic_load_n(&race_threaded, __ATOMIC_RELAXED); }
static inline void race_gives(const volatile void *object)
{
    if (race_tells())
        race_release((uintptr_t)object);
}
static inline void race_takes(const volatile void *object)
{
    if (race_tells())
        race_acquire((uintptr_t)object);
}

/* The next definition of a function that this library has in front of it. */
#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) next;                                                                                 \
        __typeof__(&name) found = __atomic_load_n(&next, __ATOMIC_RELAXED);                                            \
        if (!found)                                                                                                    \
            __atomic_store_n(&next, found = (__typeof__(&name))race_next(#name), __ATOMIC_RELAXED);                    \
        found;                                                                                                         \
    })

/* Functions of a runtime behind which, and before which, a thread has an object. */
#define ENTER(name, parameters, arguments, object)                                                                     \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        REAL(name) arguments;                                                                                          \
        race_takes(object);                                                                                            \
    }
#define LEAVE(name, parameters, arguments, object)                                                                     \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        race_gives(object);                                                                                            \
        REAL(name) arguments;                                                                                          \
    }

/* The accesses of the program itself. */
enum { RACE_READ, RACE_WRITE, RACE_ATOMIC_READ, RACE_ATOMIC };
/* The front half of the shadow of eight bytes: see crates/race/src/cell.rs. */
struct race_half {
    struct {
        uint64_t key, place;
    } slots[2];
};
/* A part of symmetric memory, a whole number of eight bytes. */
struct race_part {
    uintptr_t start;
    size_t len;
    struct race_half *fronts;
};
/* The PE's own memory in one life of the library, the code of the program, and that of the Fortran module in it. It stays for ever. */
struct race_reach {
    struct race_part heap, statics;
    uintptr_t code;
    size_t code_len;
    uintptr_t module;
    size_t module_len;
};
/* That of the present life; null if there is none. */
extern HIDDEN const struct race_reach *race_reach;
/* What a thread knows of the strand that it is, as long as the life is the one of `reach`. */
struct race_view {
    const struct race_reach *reach;
    /* The strand's present time, and the rest of what cells have of it. */
    const uint32_t *now;
    uint64_t place;
    /* The part of another PE's memory that the thread has accessed last, or null. */
    const struct race_part *far;
    uint64_t key;
};
/* `view` is the thread's, which may change, or null. */
void race_plain(uintptr_t address, size_t len, int kind, const void *pc, struct race_view *view);
void race_atomic(uintptr_t address, size_t len, int updates, const void *pc);
void race_atomic_done(uintptr_t address, size_t len);

/* The thread is another strand from now on. */
void race_is_another(void);

/* Addresses of symmetric memory as the program sees it: parts of the node's memory that may be a PE's. */
struct race_window {
    uintptr_t start;
    size_t len;
};
extern HIDDEN struct race_window race_windows[3];
static inline int is_watched(uintptr_t address)
{
    return address - race_windows[0].start < race_windows[0].len ||
           address - race_windows[1].start < race_windows[1].len ||
           address - race_windows[2].start < race_windows[2].len;
}

/* Not 0 while local buffers of nonblocking operations may not be touched. */
extern HIDDEN uint32_t race_buffers;
/* Extents of addresses that hold all of these buffers: see crates/race/src/pending.rs. Null if there are none. */
enum { RACE_EXTENTS = 4 };
struct race_extent {
    uintptr_t start, end;
};
extern HIDDEN const struct race_extent *race_lent;

#endif
