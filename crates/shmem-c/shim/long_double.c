/* The routines that pass or return long double by value, which Rust cannot express. A long double is moved as the
 * bytes it occupies, padding included. */
#include "pshmem.h"

#define WEAK(name) __attribute__((weak, alias("p" #name)))

void pshmem_longdouble_p(long double *dest, long double value, int pe) {
    pshmem_putmem(dest, &value, sizeof value, pe);
}

void pshmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) {
    pshmem_ctx_putmem(ctx, dest, &value, sizeof value, pe);
}

long double pshmem_longdouble_g(const long double *source, int pe) {
    long double value;
    pshmem_getmem(&value, source, sizeof value, pe);
    return value;
}

long double pshmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) {
    long double value;
    pshmem_ctx_getmem(ctx, &value, source, sizeof value, pe);
    return value;
}

void shmem_longdouble_p(long double *dest, long double value, int pe) WEAK(shmem_longdouble_p);
void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) WEAK(shmem_ctx_longdouble_p);
long double shmem_longdouble_g(const long double *source, int pe) WEAK(shmem_longdouble_g);
long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) WEAK(shmem_ctx_longdouble_g);
