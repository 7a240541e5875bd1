/* A static variable of a shared library, which is not symmetric. Compiled twice: as the library, and as the program. */
#include <shmem.h>

long fetch(int pe);

#ifdef IN_LIBRARY
static long kept = 3;

long fetch(int pe) { return shmem_long_g(&kept, pe); }
#else
int main(void) {
    shmem_init();
    fetch((shmem_my_pe() + 1) % shmem_n_pes());
    shmem_finalize();
    return 0;
}
#endif
