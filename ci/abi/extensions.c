// Cray's nonblocking transfers with and without their unused argument, in C and in C++.
#include <shmemx.h>

void f(long *d, const long *s, shmem_ctx_t c);
void f(long *d, const long *s, shmem_ctx_t c) {
    shmemx_long_put_nb(d, s, 1, 0, NULL);
    shmemx_long_put_nb(d, s, 1, 0);
    shmemx_getmem_nb(d, s, 8, 0, NULL);
    shmemx_ctx_long_put_nb(c, d, s, 1, 0);
    void (*g)(void *, const void *, size_t, int) = shmemx_put64_nb;
    g(d, s, 1, 0);
}
