/* Strided transfers with negative strides: usage strides CASE. Every PE lays guards around its object and looks at them. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 8, GUARD = 64 };
/* Of the object, the words before and after it are guards. */
static long object[GUARD + N + GUARD];

static long *array;

/* Ends the job with status 9 where a guard has changed. */
static void look(void)
{
    for (int i = 0; i < GUARD; i++)
        if (object[i] != -7 || object[GUARD + N + i] != -7) {
            printf("PE %d: a guard has changed\n", shmem_my_pe());
            shmem_global_exit(9);
        }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    long source[2 * N];
    for (int i = 0; i < 2 * N; i++)
        source[i] = i;
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    memset(object, 0, sizeof object);
    for (int i = 0; i < GUARD; i++)
        object[i] = object[GUARD + N + i] = -7;
    long *heap = shmem_calloc(N, sizeof *heap);
    array = object + GUARD;
    shmem_barrier_all();
    if (strcmp(which, "inside") == 0) {
        /* Reversed inside of the object: not promised by the standard, but well defined here. */
        if (me == 0) {
            shmem_long_iput(array + N - 1, source, -1, 1, N, last);
            shmem_long_ibput(heap + N - 2, source, -2, 2, 2, N / 2, last);
        }
        shmem_barrier_all();
        long back[N], blocks[N];
        shmem_long_iget(back, array + N - 1, 1, -1, N, last);
        shmem_long_ibget(blocks, heap + N - 2, 2, -2, 2, N / 2, last);
        for (int i = 0; i < N; i++)
            if (back[i] != i || blocks[i] != i || (me == last && array[i] != N - 1 - i))
                shmem_global_exit(8);
        shmem_barrier_all();
        look();
        puts("reversed");
        shmem_finalize();
        return 0;
    }
    /* The rest leaves the caller's heap downwards, where other PEs' heaps may lie. */
    long far = -(1L << atoi(argc > 2 ? argv[2] : "20"));
    if (me == 0) {
        shmem_ctx_t context;
        long into[N];
        shmem_ctx_create(0, &context);
        if (strcmp(which, "iput") == 0)
            shmem_long_iput(heap, source, far, 1, 2, last);
        else if (strcmp(which, "iget") == 0)
            shmem_long_iget(into, heap, 1, far, 2, last);
        else if (strcmp(which, "ibput") == 0)
            shmem_long_ibput(heap, source, far, 2, 2, 2, last);
        else if (strcmp(which, "ibget") == 0)
            shmem_long_ibget(into, heap, 2, far, 2, 2, last);
        else if (strcmp(which, "ctx_iput") == 0)
            shmem_ctx_iput64(context, heap, source, far, 1, 2, last);
        else if (strcmp(which, "ctx_iget") == 0)
            shmem_ctx_iget64(context, into, heap, 1, far, 2, last);
        shmem_quiet();
    }
    shmem_barrier_all();
    /* Nobody has written below anybody's own block either. */
    for (int i = 0; i < N; i++)
        if (heap[i] != 0 && i > 0)
            shmem_global_exit(7);
    shmem_finalize();
    return 0;
}
