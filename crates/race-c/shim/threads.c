/* Threads of POSIX, C11 and C++, and what they order each other with. */
#include "race.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

/* What a thread starts with. */
struct start {
    void *(*posix)(void *);
    int (*c11)(void *);
    void *argument;
    uint32_t strand;
    /* Whether it begins as one that may be joined; such a thread and the one that has made it have this both. */
    _Bool joinable, is_known;
};

uint64_t race_this_thread(void) { return pthread_self(); }

/* What threads that have ended have done: who gets the robust mutex of one of them comes after it. */
static const char ended[2];

/* The thread may have another strand than it has begun with: one of a later life of the library. */
static void over(void *unused)
{
    (void)unused;
    race_gives(ended);
    race_strand_over(race_strand());
}

/* The handle of a thread is known to itself, or to the one that has made it; the second has no more use for the start. */
static void handle_is_known(struct start *start, uint64_t thread)
{
    if (race_thread_made(thread, start->strand, &start->is_known))
        free(start);
}

static void *run(void *given)
{
    struct start *start = given;
    void *(*posix)(void *) = start->posix, *argument = start->argument, *result = NULL;
    int (*c11)(void *) = start->c11;
    uint32_t strand = start->strand;
    if (start->joinable)
        handle_is_known(start, pthread_self());
    else
        free(start);
    race_become(strand);
    pthread_cleanup_push(over, NULL);
    result = posix ? posix(argument) : (void *)(intptr_t)c11(argument);
    pthread_cleanup_pop(1);
    return result;
}

static int run_c11(void *given) { return (int)(intptr_t)run(given); }

/* The start of a thread that the program makes; NULL if it is none, or if races are not looked for. */
static struct start *begin(struct start start, const void *pc)
{
    Dl_info object;
    if (race_depth > 0)
        return NULL;
    uint32_t strand = race_fork(0);
    struct start *made = strand ? malloc(sizeof *made) : NULL;
    if (!made)
        return NULL;
    start.strand = strand - 1;
    /* The barriers of clang's OpenMP are not seen if it has no tools interface: all its threads count as one. */
    if (!race_runtime_tells() && dladdr(pc, &object) && object.dli_fname &&
        (strstr(object.dli_fname, "libomp") || strstr(object.dli_fname, "libiomp")))
        start.strand = 0;
    *made = start;
    return made;
}

static int is_joinable(const pthread_attr_t *attributes)
{
    int state = PTHREAD_CREATE_JOINABLE;
    if (attributes)
        pthread_attr_getdetachstate(attributes, &state);
    return state == PTHREAD_CREATE_JOINABLE;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument)
{
    struct start given = {.posix = work, .argument = argument, .joinable = is_joinable(attributes)};
    struct start *start = begin(given, __builtin_return_address(0));
    if (!start)
        return REAL(pthread_create)(thread, attributes, work, argument);
    uint32_t strand = start->strand;
    int result = REAL(pthread_create)(thread, attributes, run, start);
    if (result != 0) {
        race_strand_over(strand);
        free(start);
    } else if (given.joinable)
        handle_is_known(start, *thread);
    return result;
}

int thrd_create(thrd_t *thread, thrd_start_t work, void *argument)
{
    struct start given = {.c11 = work, .argument = argument, .joinable = 1};
    struct start *start = begin(given, __builtin_return_address(0));
    if (!start)
        return REAL(thrd_create)(thread, work, argument);
    uint32_t strand = start->strand;
    int result = REAL(thrd_create)(thread, run_c11, start);
    if (result == thrd_success)
        handle_is_known(start, *thread);
    else {
        race_strand_over(strand);
        free(start);
    }
    return result;
}

/* Another thread may have the handle of a detached one as soon as that has ended. */
#define DETACH(name, type)                                                                                             \
    int name(type thread)                                                                                              \
    {                                                                                                                  \
        if (race_tells())                                                                                              \
            race_thread_detached(thread);                                                                              \
        return REAL(name)(thread);                                                                                     \
    }
DETACH(pthread_detach, pthread_t)
DETACH(thrd_detach, thrd_t)

#define JOIN(name, result, good, parameters, arguments)                                                                \
    result name parameters                                                                                             \
    {                                                                                                                  \
        uint64_t known = race_tells() ? race_thread_known(thread) : 0;                                                 \
        result joined = REAL(name) arguments;                                                                          \
        if (joined == good && race_tells())                                                                            \
            race_thread_joined(thread, known);                                                                         \
        return joined;                                                                                                 \
    }
JOIN(pthread_join, int, 0, (pthread_t thread, void **value), (thread, value))
JOIN(pthread_tryjoin_np, int, 0, (pthread_t thread, void **value), (thread, value))
JOIN(pthread_timedjoin_np, int, 0, (pthread_t thread, void **value, const struct timespec *end), (thread, value, end))
#if __GLIBC_PREREQ(2, 31)
JOIN(pthread_clockjoin_np, int, 0, (pthread_t thread, void **value, clockid_t clock, const struct timespec *end),
     (thread, value, clock, end))
#endif
JOIN(thrd_join, int, thrd_success, (thrd_t thread, int *value), (thread, value))

/* A runtime of OpenMP orders nothing by its own locks and conditions. */
#define IS_RUNTIME race_is_runtime(__builtin_return_address(0))
#define GIVE(object) (IS_RUNTIME ? (void)0 : race_gives(object))
#define TAKE(object) (IS_RUNTIME ? (void)0 : race_takes(object))

/* Whether a call has got its object, be it from a thread that has ended with it. */
static int has_got(int result)
{
    if (result == EOWNERDEAD)
        race_takes(ended);
    return result == 0 || result == EOWNERDEAD;
}

/* A call that gives what its thread knows to others, before it does what it does. */
#define GIVES(name, type)                                                                                              \
    int name(type *object)                                                                                             \
    {                                                                                                                  \
        GIVE(object);                                                                                                  \
        return REAL(name)(object);                                                                                     \
    }
/* A call that takes it, if it succeeds. */
#define TAKES(name, type)                                                                                              \
    int name(type *object)                                                                                             \
    {                                                                                                                  \
        int result = REAL(name)(object);                                                                               \
        if (has_got(result))                                                                                           \
            TAKE(object);                                                                                              \
        return result;                                                                                                 \
    }
#define TAKES_UNTIL(name, type)                                                                                        \
    int name(type *restrict object, const struct timespec *restrict end)                                               \
    {                                                                                                                  \
        int result = REAL(name)(object, end);                                                                          \
        if (has_got(result))                                                                                           \
            TAKE(object);                                                                                              \
        return result;                                                                                                 \
    }
/* A wait that gives a lock back and takes it again. */
#define WAITS(name, condition, lock)                                                                                   \
    int name(condition *restrict waits, lock *restrict object)                                                         \
    {                                                                                                                  \
        GIVE(object);                                                                                                  \
        int result = REAL(name)(waits, object);                                                                        \
        has_got(result);                                                                                               \
        TAKE(object);                                                                                                  \
        return result;                                                                                                 \
    }
#define WAITS_UNTIL(name, condition, lock)                                                                             \
    int name(condition *restrict waits, lock *restrict object, const struct timespec *restrict end)                    \
    {                                                                                                                  \
        GIVE(object);                                                                                                  \
        int result = REAL(name)(waits, object, end);                                                                   \
        has_got(result);                                                                                               \
        TAKE(object);                                                                                                  \
        return result;                                                                                                 \
    }

/* As those before, with a clock: what C++ waits with up to a time of its steady clock. */
#define TAKES_BY_CLOCK(name, type)                                                                                     \
    int name(type *restrict object, clockid_t clock, const struct timespec *restrict end)                              \
    {                                                                                                                  \
        int result = REAL(name)(object, clock, end);                                                                   \
        if (has_got(result))                                                                                           \
            TAKE(object);                                                                                              \
        return result;                                                                                                 \
    }

TAKES(pthread_mutex_lock, pthread_mutex_t)
TAKES(pthread_mutex_trylock, pthread_mutex_t)
TAKES_UNTIL(pthread_mutex_timedlock, pthread_mutex_t)
TAKES_BY_CLOCK(pthread_mutex_clocklock, pthread_mutex_t)
GIVES(pthread_mutex_unlock, pthread_mutex_t)
WAITS(pthread_cond_wait, pthread_cond_t, pthread_mutex_t)
WAITS_UNTIL(pthread_cond_timedwait, pthread_cond_t, pthread_mutex_t)
TAKES(pthread_spin_lock, volatile int)
TAKES(pthread_spin_trylock, volatile int)
GIVES(pthread_spin_unlock, volatile int)
TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
TAKES(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TAKES_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t)
TAKES_BY_CLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t)
TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
TAKES(pthread_rwlock_trywrlock, pthread_rwlock_t)
TAKES_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t)
TAKES_BY_CLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t)
GIVES(pthread_rwlock_unlock, pthread_rwlock_t)
GIVES(sem_post, sem_t)
TAKES(sem_wait, sem_t)
TAKES(sem_trywait, sem_t)
TAKES_UNTIL(sem_timedwait, sem_t)
TAKES_BY_CLOCK(sem_clockwait, sem_t)
TAKES(mtx_lock, mtx_t)
TAKES(mtx_trylock, mtx_t)
TAKES_UNTIL(mtx_timedlock, mtx_t)
GIVES(mtx_unlock, mtx_t)
WAITS(cnd_wait, cnd_t, mtx_t)
WAITS_UNTIL(cnd_timedwait, cnd_t, mtx_t)

int pthread_cond_clockwait(pthread_cond_t *restrict waits, pthread_mutex_t *restrict object, clockid_t clock,
                           const struct timespec *restrict end)
{
    GIVE(object);
    int result = REAL(pthread_cond_clockwait)(waits, object, clock, end);
    has_got(result);
    TAKE(object);
    return result;
}

int pthread_barrier_init(pthread_barrier_t *restrict barrier, const pthread_barrierattr_t *restrict attributes,
                         unsigned count)
{
    race_barrier_made((uintptr_t)barrier, count);
    return REAL(pthread_barrier_init)(barrier, attributes, count);
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const char *round = (const char *)barrier + race_barrier_round((uintptr_t)barrier) % 4;
    race_gives(round);
    int result = REAL(pthread_barrier_wait)(barrier);
    race_takes(round);
    return result;
}

/* What is done once: a thread that has not done it comes after it. */
static _Thread_local struct {
    void (*work)(void);
    const void *object;
} once;

static void do_once(void)
{
    const void *object = once.object;
    once.work();
    race_gives(object);
}

#define ONCE(result, name, type, call)                                                                                 \
    result name(type *object, void (*work)(void))                                                                      \
    {                                                                                                                  \
        __typeof__(once) outer = once;                                                                                 \
        once.work = work;                                                                                              \
        once.object = object;                                                                                          \
        call;                                                                                                          \
        once = outer;                                                                                                  \
        race_takes(object);                                                                                            \
        RETURN_##result;                                                                                               \
    }
#define RETURN_int return done
#define RETURN_void return
ONCE(int, pthread_once, pthread_once_t, int done = REAL(pthread_once)(object, do_once))
ONCE(void, call_once, once_flag, REAL(call_once)(object, do_once))

/* Static variables of C++ functions. */
int __cxa_guard_acquire(uint64_t *guard);
void __cxa_guard_release(uint64_t *guard);
int __cxa_guard_acquire(uint64_t *guard)
{
    int mine = REAL(__cxa_guard_acquire)(guard);
    if (is_watched((uintptr_t)guard))
        race_atomic_done((uintptr_t)guard, 1);
    else
        race_takes(guard);
    return mine;
}
void __cxa_guard_release(uint64_t *guard)
{
    /* The program itself looks at the first byte, with an atomic load. */
    if (is_watched((uintptr_t)guard))
        race_atomic((uintptr_t)guard, 1, 1, __builtin_return_address(0));
    else
        race_gives(guard);
    REAL(__cxa_guard_release)(guard);
}
