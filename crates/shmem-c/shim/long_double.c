/* The routines that pass or return long double by value, which Rust cannot express. A long double is moved as the
 * bytes it occupies, padding included. */
#include "pshmem.h"

#define WEAK(name) __attribute__((weak, alias("p" #name)))

/* The transfers, with values by address. Their messages name the routines below: src/long_double.rs. */
void oxshmem_longdouble_p(long double *dest, const long double *value, int pe);
void oxshmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, const long double *value, int pe);
void oxshmem_longdouble_g(long double *value, const long double *source, int pe);
void oxshmem_ctx_longdouble_g(shmem_ctx_t ctx, long double *value, const long double *source, int pe);

void pshmem_longdouble_p(long double *dest, long double value, int pe) {
    oxshmem_longdouble_p(dest, &value, pe);
}

void pshmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) {
    oxshmem_ctx_longdouble_p(ctx, dest, &value, pe);
}

long double pshmem_longdouble_g(const long double *source, int pe) {
    long double value;
    oxshmem_longdouble_g(&value, source, pe);
    return value;
}

long double pshmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) {
    long double value;
    oxshmem_ctx_longdouble_g(ctx, &value, source, pe);
    return value;
}

void shmem_longdouble_p(long double *dest, long double value, int pe) WEAK(shmem_longdouble_p);
void shmem_ctx_longdouble_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) WEAK(shmem_ctx_longdouble_p);
long double shmem_longdouble_g(const long double *source, int pe) WEAK(shmem_longdouble_g);
long double shmem_ctx_longdouble_g(shmem_ctx_t ctx, const long double *source, int pe) WEAK(shmem_ctx_longdouble_g);
