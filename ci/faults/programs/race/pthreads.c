/* Threads of POSIX and C11 that hand memory over. */
#define _GNU_SOURCE
#include "cases.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>

static long far[8], landing[16];
static int next;

/* What threads tell each other with; it is set up anew for each case, and is no symmetric memory. */
struct means {
    pthread_mutex_t mutex, robust;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
    sem_t semaphore;
    pthread_t first;
    mtx_t c11_mutex;
    cnd_t c11_condition;
    int told;
    atomic_int flag, others[20];
    volatile int unseen;
    void (*works[2])(void);
};
static struct means *with;

#define UNDER(lock, unlock)                                                                                            \
    {                                                                                                                  \
        for (int heard = 0; !heard; unlock) {                                                                          \
            lock;                                                                                                      \
            heard = with->told;                                                                                        \
        }                                                                                                              \
    }
#define SET_UNDER(lock, unlock)                                                                                        \
    {                                                                                                                  \
        lock;                                                                                                          \
        with->told = 1;                                                                                                \
        unlock;                                                                                                        \
    }

#define NAME(x) mutex_##x
#define TELL SET_UNDER(pthread_mutex_lock(&with->mutex), pthread_mutex_unlock(&with->mutex))
#define HEAR UNDER(while (pthread_mutex_trylock(&with->mutex)), pthread_mutex_unlock(&with->mutex))
#include "handover.h"

#define NAME(x) condition_##x
#define TELL SET_UNDER(pthread_mutex_lock(&with->mutex), (pthread_cond_signal(&with->condition), pthread_mutex_unlock(&with->mutex)))
#define HEAR                                                                                                           \
    {                                                                                                                  \
        pthread_mutex_lock(&with->mutex);                                                                              \
        while (!with->told)                                                                                            \
            pthread_cond_wait(&with->condition, &with->mutex);                                                         \
        pthread_mutex_unlock(&with->mutex);                                                                            \
    }
#include "handover.h"

#define NAME(x) rwlock_##x
#define TELL SET_UNDER(pthread_rwlock_wrlock(&with->rwlock), pthread_rwlock_unlock(&with->rwlock))
#define HEAR UNDER(pthread_rwlock_rdlock(&with->rwlock), pthread_rwlock_unlock(&with->rwlock))
#include "handover.h"

#define NAME(x) spin_##x
#define TELL SET_UNDER(pthread_spin_lock(&with->spin), pthread_spin_unlock(&with->spin))
#define HEAR UNDER(pthread_spin_lock(&with->spin), pthread_spin_unlock(&with->spin))
#include "handover.h"

#define NAME(x) semaphore_##x
#define TELL sem_post(&with->semaphore)
#define HEAR sem_wait(&with->semaphore)
#include "handover.h"

#define NAME(x) barrier_##x
#define TELL pthread_barrier_wait(&with->barrier)
#define HEAR pthread_barrier_wait(&with->barrier)
#include "handover.h"

/* As the classes of C++ with a time limit do. */
static const struct timespec never = {.tv_sec = 1 << 30};
#define NAME(x) mutex_until_##x
#define TELL                                                                                                           \
    SET_UNDER(pthread_mutex_clocklock(&with->mutex, CLOCK_MONOTONIC, &never), pthread_mutex_unlock(&with->mutex))
#define HEAR                                                                                                           \
    UNDER(pthread_mutex_clocklock(&with->mutex, CLOCK_MONOTONIC, &never), pthread_mutex_unlock(&with->mutex))
#include "handover.h"

#define NAME(x) rwlock_until_##x
#define TELL                                                                                                           \
    SET_UNDER(pthread_rwlock_clockwrlock(&with->rwlock, CLOCK_MONOTONIC, &never), pthread_rwlock_unlock(&with->rwlock))
#define HEAR                                                                                                           \
    UNDER(pthread_rwlock_clockrdlock(&with->rwlock, CLOCK_MONOTONIC, &never), pthread_rwlock_unlock(&with->rwlock))
#include "handover.h"

#define NAME(x) semaphore_until_##x
#define TELL sem_post(&with->semaphore)
#define HEAR sem_clockwait(&with->semaphore, CLOCK_MONOTONIC, &never)
#include "handover.h"

#define NAME(x) join_##x
#define TELL (void)0
#define HEAR                                                                                                           \
    if (right)                                                                                                         \
    pthread_join(with->first, NULL)
#include "handover.h"

/* The first thread ends with the mutex. */
#define NAME(x) robust_##x
#define TELL pthread_mutex_lock(&with->robust)
#define HEAR                                                                                                           \
    if (right) {                                                                                                       \
        while (pthread_mutex_lock(&with->robust) != EOWNERDEAD)                                                        \
            pthread_mutex_unlock(&with->robust);                                                                       \
        pthread_mutex_consistent(&with->robust);                                                                       \
        pthread_mutex_unlock(&with->robust);                                                                           \
    }
#include "handover.h"

#define NAME(x) release_##x
#define TELL atomic_store_explicit(&with->flag, 1, memory_order_release)
#define HEAR                                                                                                           \
    while (!atomic_load_explicit(&with->flag, memory_order_acquire))                                                   \
    ;
#include "handover.h"

#define NAME(x) fence_##x
#define TELL (atomic_thread_fence(memory_order_release), atomic_store_explicit(&with->flag, 1, memory_order_relaxed))
#define HEAR                                                                                                           \
    while (!atomic_load_explicit(&with->flag, memory_order_relaxed))                                                   \
        ;                                                                                                              \
    atomic_thread_fence(memory_order_acquire)
#include "handover.h"

/* One fence behind many relaxed loads, as of a thread that waits for many. */
#define NAME(x) fences_##x
#define TELL (atomic_thread_fence(memory_order_release), atomic_store_explicit(&with->flag, 1, memory_order_relaxed))
#define HEAR                                                                                                           \
    while (!atomic_load_explicit(&with->flag, memory_order_relaxed))                                                   \
        ;                                                                                                              \
    for (int i = 0; i < 20; i++)                                                                                       \
        sink = atomic_load_explicit(&with->others[i], memory_order_relaxed);                                           \
    atomic_thread_fence(memory_order_acquire)
#include "handover.h"

/* A comparison that fails has an order of its own. */
#define NAME(x) failure_##x
#define TELL atomic_store_explicit(&with->flag, 1, memory_order_release)
#define HEAR                                                                                                           \
    for (int none = 0;                                                                                                 \
         atomic_compare_exchange_strong_explicit(&with->flag, &none, 0, memory_order_release, memory_order_acquire);)  \
    ;
#include "handover.h"

#define NAME(x) exchange_##x
#define TELL atomic_fetch_or(&with->flag, 1)
#define HEAR                                                                                                           \
    for (int one = 1; !atomic_compare_exchange_weak(&with->flag, &one, 2); one = 1)                                    \
    ;
#include "handover.h"

#define NAME(x) c11_##x
#define TELL SET_UNDER(mtx_lock(&with->c11_mutex), (cnd_broadcast(&with->c11_condition), mtx_unlock(&with->c11_mutex)))
#define HEAR                                                                                                           \
    {                                                                                                                  \
        mtx_lock(&with->c11_mutex);                                                                                    \
        while (!with->told)                                                                                            \
            cnd_wait(&with->c11_condition, &with->c11_mutex);                                                          \
        mtx_unlock(&with->c11_mutex);                                                                                  \
    }
#include "handover.h"

/* Somebody has waited for the first store, and reads what the second one has stored. */
static long again_store_data[8];
static void again_store_first(void)
{
    again_store_data[0] = 1;
    while (with->unseen < 1)
        sched_yield();
    if (!right)
        again_store_data[0] = 2; /* race */
    with->unseen = 2;
}
static void again_store_second(void)
{
    shmem_long_wait_until(again_store_data, SHMEM_CMP_NE, 0);
    with->unseen = 1;
    while (with->unseen < 2)
        sched_yield();
    sink = again_store_data[0]; /* race */
}

/* Threads that store get the handles of detached ones, which are free as soon as these have ended. */
static long reused_handle_data[8];
static void *store(void *unused)
{
    (void)unused;
    reused_handle_data[0] = 1; /* race */
    return NULL;
}
static void *detach_itself(void *is_detached)
{
    if (!is_detached)
        pthread_detach(pthread_self());
    return NULL;
}
static void reused_handle(void)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, i % 2 ? &detached : NULL, detach_itself, (void *)(intptr_t)(i % 2));
        pthread_create(&thread, NULL, store, NULL);
        if (right)
            pthread_join(thread, NULL);
        sink = reused_handle_data[0]; /* race */
        if (!right)
            pthread_join(thread, NULL);
    }
    pthread_attr_destroy(&detached);
    shmem_barrier_all();
}

static void *posix_first(void *given) { return ((struct means *)given)->works[0](), NULL; }
static int c11_first(void *given) { return ((struct means *)given)->works[0](), 0; }

static void begin(struct means *means)
{
    next = (me + 1) % npes;
    pthread_mutex_init(&means->mutex, NULL);
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&means->robust, &robust);
    pthread_cond_init(&means->condition, NULL);
    pthread_rwlock_init(&means->rwlock, NULL);
    pthread_spin_init(&means->spin, 0);
    pthread_barrier_init(&means->barrier, NULL, 2);
    sem_init(&means->semaphore, 0, 0);
    mtx_init(&means->c11_mutex, mtx_plain);
    cnd_init(&means->c11_condition);
    with = means;
}

/* The first thread is made, the second one is this one. */
static void hand_over(void (*first)(void), void (*second)(void))
{
    struct means means = {.works = {first, second}};
    begin(&means);
    pthread_create(&means.first, NULL, posix_first, &means);
    second();
    if (second != join_get_second && second != join_source_second && second != join_store_second &&
        second != join_atomic_second && second != join_put_second)
        pthread_join(means.first, NULL);
    else if (!right)
        pthread_join(means.first, NULL);
    shmem_barrier_all();
}

static void hand_over_c11(void (*first)(void), void (*second)(void))
{
    struct means means = {.works = {first, second}};
    thrd_t thread;
    begin(&means);
    thrd_create(&thread, c11_first, &means);
    second();
    thrd_join(thread, NULL);
    shmem_barrier_all();
}

#define RUN(how, way, over)                                                                                            \
    static void how##_##way(void) { over(how##_##way##_first, how##_##way##_second); }
#define WAYS(how, over)                                                                                                \
    RUN(how, get, over) RUN(how, source, over) RUN(how, store, over) RUN(how, atomic, over) RUN(how, put, over)
WAYS(mutex, hand_over)
WAYS(condition, hand_over)
WAYS(rwlock, hand_over)
WAYS(spin, hand_over)
WAYS(semaphore, hand_over)
WAYS(barrier, hand_over)
WAYS(join, hand_over)
WAYS(robust, hand_over)
WAYS(release, hand_over)
WAYS(fence, hand_over)
WAYS(fences, hand_over)
WAYS(failure, hand_over)
WAYS(mutex_until, hand_over)
WAYS(rwlock_until, hand_over)
WAYS(semaphore_until, hand_over)
WAYS(exchange, hand_over)
WAYS(c11, hand_over_c11)
RUN(again, store, hand_over)

#define ALL(how) CASE(how##_get), CASE(how##_source), CASE(how##_store), CASE(how##_atomic), CASE(how##_put)
static const struct race_case cases[] = {ALL(mutex), ALL(condition), ALL(rwlock), ALL(spin), ALL(semaphore), ALL(barrier),
                                         ALL(join), ALL(robust), ALL(release), ALL(fence), ALL(fences),
                                         ALL(failure), ALL(mutex_until), ALL(rwlock_until), ALL(semaphore_until), ALL(exchange),
                                         ALL(c11), CASE(again_store),
                                         CASE(reused_handle)};
MAIN(cases)
