/* Atomics on 64-bit words: by one PE on its partner's, and by all PEs on PE 0's. */
#include "bench.h"

static long *shared, next, seen;

static void renew(unsigned seed)
{
    (void)seed;
    next = 0;
    *shared = 0;
}

#define ON_PARTNER(name, statement)                           \
    static void name(long n)                                  \
    {                                                         \
        for (long i = 0; i < n && me == 0; i++, next++) {     \
            statement;                                        \
        }                                                     \
    }
ON_PARTNER(inc, shmem_long_atomic_inc(shared, partner); shmem_quiet())
ON_PARTNER(add, shmem_long_atomic_add(shared, 1, partner); shmem_quiet())
ON_PARTNER(set, shmem_long_atomic_set(shared, next + 1, partner); shmem_quiet())
ON_PARTNER(fetch, seen = shmem_long_atomic_fetch(shared, partner))
ON_PARTNER(fetch_add, seen = shmem_long_atomic_fetch_add(shared, 1, partner))
ON_PARTNER(swap, seen = shmem_long_atomic_swap(shared, next + 1, partner))
ON_PARTNER(compare_swap, seen = shmem_long_atomic_compare_swap(shared, next, next + 1, partner))

#if VERSION >= 105
/* Many under way, and one quiet for all. */
static void fetch_add_nbi(long n)
{
    for (long i = 0; i < n && me == 0; i++, next++)
        shmem_long_atomic_fetch_add_nbi(&seen, shared, 1, partner);
    shmem_quiet();
}
#endif

/* Every PE adds to the word of PE 0 and counts what it has added. */
static void contended(long n)
{
    for (long i = 0; i < n; i++, next++)
        shmem_long_atomic_fetch_add(shared, 1, 0);
}

static int partner_has_all(unsigned seed, long n)
{
    return (void)seed, (void)n, me != 0 || shmem_long_atomic_fetch(shared, partner) == next;
}
static int nothing_changed(unsigned seed, long n) { return (void)seed, (void)n, me != 0 || seen == 0; }
static int all_added(unsigned seed, long n) { return (void)seed, me != 0 || *shared == npes * n; }

void atomics(void)
{
    static const struct { const char *form; void (*batch)(long); int (*arrived)(unsigned, long); } calls[] = {
        {"inc", inc, partner_has_all}, {"add", add, partner_has_all}, {"set", set, partner_has_all},
        {"fetch", fetch, nothing_changed}, {"fetch_add", fetch_add, partner_has_all}, {"swap", swap, partner_has_all},
        {"compare_swap", compare_swap, partner_has_all},
    };
    shared = symmetric(sizeof *shared);
    if (pairs > 0) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            measure(&(struct row){"atomic", calls[i].form, 8, FIRST, calls[i].batch, 1, renew, calls[i].arrived, 0, 0});
#if VERSION >= 105
        measure(&(struct row){"atomic", "fetch_add_nbi", 8, FIRST, fetch_add_nbi, 1, renew, partner_has_all, 0, 1});
#endif
    }
    measure(&(struct row){"contended atomic", "fetch_add", 8, ALL, contended, 1, renew, all_added, 0, 1});
}
