/* Variables whose names a compiler of C++ uses as codes of types, in a race each. */
#include <shmem.h>

static long x, i, d[2], n, Pc;

int main(void)
{
    static long f;
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_long_p(&x, 1, 1);
        shmem_long_p(&i, 1, 1);
        shmem_long_p(&d[1], 1, 1);
        shmem_long_p(&n, 1, 1);
        shmem_long_p(&Pc, 1, 1);
        shmem_long_p(&f, 1, 1);
    } else if (shmem_my_pe() == 1) {
        x = 2;
        i = 2;
        d[1] = 2;
        n = 2;
        Pc = 2;
        f = 2;
    }
    shmem_finalize();
    return 0;
}
