// Overloads for the types of arguments, with a context and without one.
#include <complex>
#include <shmem.h>

void f(shmem_ctx_t c, double *d, long *l, unsigned short *s, uint64_t *u) {
    shmem_put(d, d, 1, 0);
    shmem_put(c, d, d, 1, 0);
    shmem_p(l, 3, shmem_g(s, 0));
    shmem_atomic_add(u, 1, 0);
    shmem_wait_until(l, SHMEM_CMP_EQ, 1);
    shmem_wait_until(u, SHMEM_CMP_EQ, 1);
    volatile long flag = 0;
    volatile int flags[2] = {0, 0};
    shmem_wait_until(&flag, SHMEM_CMP_EQ, 0);
    shmem_wait_until_all(flags, 2, nullptr, SHMEM_CMP_EQ, 0);
    (void) shmem_test(flags, SHMEM_CMP_EQ, 0);
    shmem_signal_set(u, 1, 0);
    shmem_signal_set(c, u, 1, 0);
    (void) shmem_swap(l, 1, 0);
}

int g(shmem_team_t t, std::complex<double> *z, std::complex<float> *c, double *d) {
    return shmem_sum_reduce(t, z, z, 1) + shmem_prod_reduce(t, c, c, 1) + shmem_max_reduce(t, d, d, 1) + shmem_sync(t);
}

// Handles of different kinds are different types, and each is the header's struct.
int which(shmem_ctx_t);
long which(shmem_team_t);
static_assert(sizeof(which(SHMEM_CTX_INVALID)) == sizeof(int), "");
static_assert(sizeof(which(SHMEM_TEAM_INVALID)) == sizeof(long), "");
