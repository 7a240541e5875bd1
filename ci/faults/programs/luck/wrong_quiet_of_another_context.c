/* A quiet of the default context completes nothing of another one. */
#include "luck.h"
static long data[WORDS], flag;
static void run(void)
{
    long source[WORDS];
    shmem_ctx_t context;
    const int next = (me + 1) % npes;
    if (shmem_ctx_create(0, &context))
        shmem_global_exit(3);
    for (int i = 0; i < WORDS; i++)
        source[i] = 3 * i;
    shmem_ctx_long_put_nbi(context, data, source, WORDS, next);
    shmem_quiet();
    shmem_long_p(&flag, 1, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    EXPECT(data[5], 15);
    shmem_ctx_destroy(context);
}
