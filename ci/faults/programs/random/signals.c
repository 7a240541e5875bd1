/* Data and a signal to neighbours, in every form that promises that the data comes first; the neighbour waits, in every form that
 * there is, and compares. */
#include "random.h"

enum { PUT_SIGNAL, PUT_SIGNAL_NBI, FENCE_SIGNAL, FENCE_P, FENCE_ATOMIC, QUIET_OTHER, SENDS };
enum { SIGNAL_WAIT, WAIT, WAIT_ALL, WAIT_ANY, WAIT_SOME, TEST, WAITS, MOST = 4 };
static const char *const sends[] = {"put_signal", "put_signal_nbi", "put_nbi, fence, signal", "put, fence, p", "put_nbi, fence, atomic",
    "put_nbi, quiet, signal on another context"};

static void send(int form, int on, int target, uint64_t *dest, uint64_t key, size_t n, uint64_t *flag, uint64_t value, int add)
{
    const shmem_ctx_t ctx = context(on);
    const int pe = number_in(on, target), operation = add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    uint64_t *source = lend(on, 8 * n);
    stream(source, key, 0, 8 * n);
    switch (form) {
    case PUT_SIGNAL: shmem_ctx_uint64_put_signal(ctx, dest, source, n, flag, value, operation, pe); return;
    case PUT_SIGNAL_NBI: shmem_ctx_putmem_signal_nbi(ctx, dest, source, 8 * n, flag, value, operation, pe); return;
    case FENCE_P: shmem_ctx_put64(ctx, dest, source, n, pe); break;
    default: shmem_ctx_uint64_put_nbi(ctx, dest, source, n, pe);
    }
    if (form == QUIET_OTHER) {
        quiet_on(on);
        add ? shmem_signal_add(flag, value, target) : shmem_signal_set(flag, value, target);
        return;
    }
    shmem_ctx_fence(ctx);
    if (form == FENCE_SIGNAL)
        add ? shmem_ctx_signal_add(ctx, flag, value, pe) : shmem_ctx_signal_set(ctx, flag, value, pe);
    else if (form == FENCE_P && !add)
        shmem_ctx_uint64_p(ctx, flag, value, pe);
    else
        add ? shmem_ctx_uint64_atomic_add(ctx, flag, value, pe) : shmem_ctx_uint64_atomic_set(ctx, flag, value, pe);
}

static void arrived(uint64_t *dest, uint64_t key, size_t n, uint64_t *flag, uint64_t value)
{
    if (n)
        stream(model(dest), key, 0, 8 * n);
    memcpy(model(flag), &value, 8);
    settled(flag, 8);
    settled(dest, 8 * n);
}

/* Every PE sends to some neighbours, then waits for its own messages. */
static void shift(void)
{
    const size_t count = 1 + below(MOST), n = any_count(8, 100 << 10);
    const int wait = (int)below(WAITS), late = (int)below(4 * (size_t)npes);
    int distance[MOST] = {0}, form[MOST] = {0}, add[MOST], done[MOST] = {0};
    uint64_t *dest[MOST], value[MOST], wanted[MOST], keys[MOST];
    room_for(8 * n * count + 8 * count, MOST + 1);
    uint64_t *flags = fresh(8 * count);
    for (size_t i = 0; i < count; i++) {
        distance[i] = (int)below((size_t)npes);
        form[i] = (int)below(SENDS);
        add[i] = one_in(2);
        value[i] = draw() | 1;
        dest[i] = fresh(8 * n);
    }
    snprintf(about, sizeof about, "%zu messages of %zu words each, the first by %s over %d, waited for in form %d", count, n, sends[form[0]],
        distance[0], wait);
    if (late == me)
        usleep(200);
    const int on = any_context(0, npes - 1); /* a context on a team does not reach everybody */
    for (size_t i = 0; i < count; i++) {
        const int target = (me + distance[i]) % npes, from = (me + npes - distance[i]) % npes;
        wanted[i] = add[i] ? initial(&flags[i], me) + value[i] : value[i];
        keys[i] = mixed(key_of(from) + i);
        send(form[i], number_in(on, target) < 0 ? 0 : on, target, dest[i], mixed(key_of(me) + i), n, &flags[i], value[i], add[i]);
    }
    if (wait == WAIT_ALL) {
        shmem_uint64_wait_until_all_vector(flags, count, NULL, SHMEM_CMP_EQ, wanted);
    } else if (wait == WAIT_ANY || wait == WAIT_SOME) {
        for (size_t left = count; left;) {
            size_t some[MOST], found = 1;
            if (wait == WAIT_ANY)
                some[0] = shmem_uint64_wait_until_any_vector(flags, count, done, SHMEM_CMP_EQ, wanted);
            else
                found = shmem_uint64_wait_until_some_vector(flags, count, some, done, SHMEM_CMP_EQ, wanted);
            for (size_t i = 0; i < found; i++) {
                if (some[i] >= count || done[some[i]])
                    wrong("the index of a wait", some[i], count);
                done[some[i]] = 1;
                left--;
                stream(model(dest[some[i]]), keys[some[i]], 0, 8 * n);
                settled(dest[some[i]], 8 * n);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (wait == SIGNAL_WAIT)
            shmem_signal_wait_until(&flags[i], SHMEM_CMP_EQ, wanted[i]);
        else if (wait == WAIT)
            shmem_uint64_wait_until(&flags[i], SHMEM_CMP_EQ, wanted[i]);
        while (wait == TEST && !shmem_uint64_test(&flags[i], SHMEM_CMP_EQ, wanted[i]))
            poll_requests(); /* a test does not move them on */
        memcpy(model(&flags[i]), &wanted[i], 8);
        if (n)
            stream(model(dest[i]), keys[i], 0, 8 * n);
        settled(dest[i], 8 * n);
    }
    settled(flags, 8 * count);
}

/* What comes is passed on from where it has come. */
static void ring(void)
{
    const size_t n = any_count(8, 32 << 10);
    const int first = (int)below((size_t)npes), form = one_in(2) ? PUT_SIGNAL : PUT_SIGNAL_NBI, position = (me - first + npes) % npes;
    snprintf(about, sizeof about, "%zu words around a ring from PE %d by %s", n, first, sends[form]);
    room_for(8 * n + 8, 2);
    uint64_t *dest = fresh(8 * n), *flag = fresh(8);
    const uint64_t key = key_of(first), value = draw() | 1;
    if (position > 0) {
        shmem_signal_wait_until(flag, SHMEM_CMP_EQ, value);
    } else if (n) {
        stream(dest, key, 0, 8 * n);
        memcpy(flag, &value, 8);
    }
    if (position > 0 || n) {
        arrived(dest, key, n, flag, value);
    }
    if (position == npes - 1)
        return;
    const int next = (me + 1) % npes;
    if (form == PUT_SIGNAL)
        shmem_uint64_put_signal(dest, dest, n, flag, value, SHMEM_SIGNAL_SET, next);
    else
        shmem_put64_signal_nbi(dest, dest, n, flag, value, SHMEM_SIGNAL_SET, next);
}

void signals(void)
{
    if (one_in(4))
        ring();
    else
        shift();
}
