/* Init is defined by the program, as the standard lets a tool do, and calls the library by its profiling name. */
#include <pshmem.h>
#include <shmem.h>

static long word, inits;

void shmem_init(void) {
    inits++;
    pshmem_init();
}

int main(void) {
    shmem_init();
    shmem_long_p(&word, inits, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    const int wrong = word != 1;
    shmem_finalize();
    return wrong;
}
