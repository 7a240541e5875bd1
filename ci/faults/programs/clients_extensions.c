/* Extensions by the type of their arguments, and hints of Sandia OpenSHMEM. */
#include <shmemx.h>
#include <stdio.h>

static double grid[6], copy[6];
static uint64_t signals[2];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes, left = (me + npes - 1) % npes, ok = 1;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    long *block = (long *) shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_NO_BARRIER);
    ok &= block != NULL && shmem_ctx_create(SHMEMX_CTX_BOUNCE_BUFFER, &ctx) == 0;
    double source[6] = {1.0 + me, 2.0 + me, 3.0 + me, 4.0 + me, 5.0 + me, 6.0 + me};
    for (int i = 0; i < 6; i++)
        grid[i] = 0;
    shmem_barrier_all();
    /* Blocks of one element: the even ones without a context, the odd ones with it. */
    shmemx_ibput(grid, source, 2, 2, 1, 3, next);
    shmemx_ibput(ctx, grid + 1, source + 1, 2, 2, 1, 3, next);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmemx_signal_set(signals, 5, next);
    shmemx_signal_add(ctx, signals + 1, 2, next);
    /* Nothing else orders two updates of one word. */
    shmem_fence();
    shmem_ctx_fence(ctx);
    shmemx_signal_set(ctx, signals + 1, 7, next);
    shmemx_signal_add(signals, 1, next);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 6; i++)
        ok &= grid[i] == 1 + i + left;
    shmemx_ibget(copy, grid, 2, 2, 1, 3, next);
    shmemx_ibget(ctx, copy + 1, grid + 1, 2, 2, 1, 3, next);
    for (int i = 0; i < 6; i++)
        ok &= copy[i] == 1 + i + me;
    ok &= signals[0] == 6 && signals[1] == 7;
    if (!ok)
        printf("PE %d: %g %g, signals %lu %lu\n", me, grid[0], grid[5], (unsigned long) signals[0], (unsigned long) signals[1]);
    shmem_ctx_destroy(ctx);
    shmem_free(block);
    shmem_finalize();
    return !ok;
}
