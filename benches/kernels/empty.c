/* Built as a shared library of its own: calling these costs what any call through the linkage table costs. */
#include <shmem.h>

void empty_call(void) {}
void empty_p(long *dest, long value, int pe) { (void)dest, (void)value, (void)pe; }
void empty_ctx_p(shmem_ctx_t ctx, long *dest, long value, int pe) { (void)ctx, (void)dest, (void)value, (void)pe; }
long empty_g(const long *source, int pe) { (void)source; return pe; }
