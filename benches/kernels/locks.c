/* Set and clear of a lock beside a ticket lock of two words in PE 0's memory. */
#include "bench.h"

static struct { struct line next, serving; } *home;
static long *lock;

static void ticket(void)
{
    long mine = atomic_fetch_add_explicit(&home->next.word, 1, memory_order_relaxed);
    spin_until(&home->serving.word, mine);
    atomic_store_explicit(&home->serving.word, mine + 1, memory_order_release);
}

BATCH(bare, ticket())
BATCH(ours, (shmem_set_lock(lock), shmem_clear_lock(lock)))

void locks(void)
{
    home = shmem_ptr(symmetric(sizeof *home), 0);
    lock = symmetric(sizeof *lock);
    row_on_0("lock alone", bare, ours);
    row("lock contended", bare, ours);
}
