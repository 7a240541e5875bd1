/* The nonblocking transfers of Cray's programs: the last argument is a handle without use, and may be missing. */
#include <shmemx.h>
#include <stdio.h>

static long dest[4];
static double real;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes, left = (me + npes - 1) % npes;
    long source[4] = {me, me + 1, me + 2, me + 3}, back[4] = {-1, -1, -1, -1};
    double one = 1.0 + me;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    void *handle = &handle;
    shmem_barrier_all();
    shmemx_put_nb(dest, source, 1, next, NULL);
    shmemx_put_nb(dest + 1, source + 1, 1, next, &handle);
    shmemx_put_nb(dest + 2, source + 2, 1, next);
    shmemx_put_nb(ctx, dest + 3, source + 3, 1, next);
    shmemx_put_nb(ctx, &real, &one, 1, next, NULL);
    shmem_barrier_all();
    shmemx_get_nb(back, dest, 2, me, NULL);
    shmemx_get_nb(ctx, back + 2, dest + 2, 1, me);
    shmemx_get_nb(ctx, back + 3, dest + 3, 1, me, &handle);
    shmem_quiet();
    int ok = real == 1.0 + left && handle == &handle;
    for (int i = 0; i < 4; i++)
        ok &= back[i] == left + i;
    if (!ok)
        printf("PE %d has %ld %ld %ld %ld\n", me, back[0], back[1], back[2], back[3]);
    shmem_finalize();
    return !ok;
}
