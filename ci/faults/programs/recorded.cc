/* Known calls by the overloads of C++. */
#include <shmemx.h>

static long target[4];

int main() {
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    long source[4] = {1, 2, 3, 4};
    for (int i = 0; i < 7; i++) {
        shmem_put(target, source, 4, next);
    }
    shmem_barrier_all();
    shmem_atomic_add(target, 1L, next);
    shmemx_long_put_nb(target, source, 1, next, NULL);
    shmem_finalize();
    return 0;
}
