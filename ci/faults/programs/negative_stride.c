/* Strided transfers whose stride is negative. `inside`: every element lies in the heap. `outside`: all but the first lie
 * before the first address of the target's heap, where another PE's heap may be. Argument 2: `put` or `get`. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { N = 8 };

int main(int argc, char **argv)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes(), last = npes - 1;
    const int outside = argc > 1 && !strcmp(argv[1], "outside"), get = argc > 2 && !strcmp(argv[2], "get");
    /* The first block of the heap begins at its first byte. */
    long *a = shmem_malloc(N * sizeof *a);
    long mine[N];
    for (int i = 0; i < N; i++) {
        a[i] = -1 - i;
        mine[i] = i;
    }
    shmem_barrier_all();
    const long stride = outside ? -(long)(((char *)shmem_ptr(a, last) - (char *)shmem_ptr(a, 0)) / last / sizeof *a) : -1;
    long *first = outside ? a : a + N - 1;
    const int count = outside ? npes : N;
    if (me == 0 && get)
        shmem_long_iget(mine, first, 1, stride, count, last);
    else if (me == 0)
        shmem_long_iput(first, mine, stride, 1, count, last);
    shmem_barrier_all();
    for (int i = 0; i < N; i++) {
        const long wanted = !get && me == last && !outside ? N - 1 - i : -1 - i;
        if (a[i] != wanted && !(outside && i == 0 && me == last))
            printf("PE %d: element %d is %ld, not %ld\n", me, i, a[i], wanted);
        if (get && me == 0 && !outside && mine[i] != -N + i)
            printf("PE %d: fetched %ld at %d\n", me, mine[i], i);
    }
    printf("PE %d is done\n", me);
    shmem_finalize();
    return 0;
}
