/* What every kernel needs: who runs, how a row is timed, and the bare limits that several kernels share.
 *
 * A row is two batches, the limit of the machine and the library's call, each a loop of n operations. They run in
 * turns in the same processes, so that whatever disturbs the machine disturbs both. */
#ifndef BENCH_H
#define BENCH_H

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <shmem.h>

/* Runs n operations. */
typedef void batch(long n);

/* Number of this PE, of all PEs, and of the other PE of a pair. */
extern int me, npes, peer;

/* Times a row and prints each PE's samples. Without a limit the row stands alone. Called by all PEs. */
void row(const char *name, batch *limit, batch *ours);
/* The same where only PE 0 works and the others stay out of the way. */
void row_on_0(const char *name, batch *limit, batch *ours);
/* The same where all work and only PE 0's clock counts. */
void row_timed_by_0(const char *name, batch *limit, batch *ours);

/* The same without trials: the samples are of the first 400 calls. */
void row_of_first(const char *name, batch *limit, batch *ours);

/* A batch that repeats one statement; it may use i, the number of the repetition. */
#define BATCH(name, statement) \
    static void name(long n) { for (long i = 0; i < n; i++) { statement; } }
/* The same for an expression whose value must not be optimised away. */
#define BATCH_OF_VALUES(name, expression) \
    static void name(long n) { long sum = 0; for (long i = 0; i < n; i++) { sum += (expression); } sink += sum; }

/* Symmetric memory, already touched by its owner. */
void *symmetric(size_t bytes);
/* Where the peer's copy of a symmetric object is mapped here. */
void *theirs(void *mine);
/* Where results end, so that the compiler must compute them. */
extern long sink;

/* A word that has its cache line for itself. */
struct line { _Alignas(128) atomic_long word; };

/* Waits without a pause; gives the processor away only when the wait is hopelessly long. */
static inline void spin_until(atomic_long *word, long value)
{
    for (long looks = 0; atomic_load_explicit(word, memory_order_acquire) < value;)
        if (++looks > 100000)
            sched_yield();
}

/* The bare barrier of two processes: each stores its own line and spins on the other's. */
extern struct line *own_line, *peer_line;
extern long epoch;
static inline void flag_barrier(void)
{
    epoch++;
    atomic_store_explicit(&own_line->word, epoch, memory_order_release);
    spin_until(&peer_line->word, epoch);
}

/* Calls across a library border that do nothing. */
void empty_call(void);
void empty_p(long *dest, long value, int pe);
void empty_ctx_p(shmem_ctx_t ctx, long *dest, long value, int pe);
long empty_g(const long *source, int pe);
/* Calls across a library border that do the one instruction which matters. */
long behind_call_fetch_add(long *far, long value, int pe);
void behind_call_fence(void);

#endif
