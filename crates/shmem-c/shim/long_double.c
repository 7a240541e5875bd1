/* The routines that pass or return long double by value, which Rust cannot express. A long double is moved as the
 * bytes it occupies, padding included. */
#include "pshmem.h"

#define WEAK(name) __attribute__((weak, alias("p" #name)))

void pshmem_longdouble_p(long double *dest, long double value, int pe) {
    pshmem_longdouble_put(dest, &value, 1, pe);
}

void pshmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) {
    pshmem_ctx_longdouble_put(ctx, dest, &value, 1, pe);
}

long double pshmem_longdouble_g(const long double *source, int pe) {
    long double value;
    pshmem_longdouble_get(&value, source, 1, pe);
    return value;
}

long double pshmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) {
    long double value;
    pshmem_ctx_longdouble_get(ctx, &value, source, 1, pe);
    return value;
}

void shmem_longdouble_p(long double *dest, long double value, int pe) WEAK(shmem_longdouble_p);
void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) WEAK(shmem_ctx_longdouble_p);
long double shmem_longdouble_g(const long double *source, int pe) WEAK(shmem_longdouble_g);
long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) WEAK(shmem_ctx_longdouble_g);
