/* Built as a shared library of its own: calling these costs what any call through the linkage table costs. */
#include "bench.h"

void empty_call(void) {}
void empty_p(long *dest, long value, int pe) { (void)dest, (void)value, (void)pe; }
void empty_ctx_p(shmem_ctx_t ctx, long *dest, long value, int pe) { (void)ctx, (void)dest, (void)value, (void)pe; }
long empty_g(const long *source, int pe) { (void)source; return pe; }

long behind_call_fetch_add(long *far, long value, int pe) { (void)pe; return __atomic_fetch_add(far, value, __ATOMIC_RELAXED); }
void behind_call_fence(void) { atomic_thread_fence(memory_order_seq_cst); }
