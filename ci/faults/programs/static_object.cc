/* The library lives in a static object, which is made before main and destroyed after it. */
#include <shmem.h>

struct Session {
    Session() { shmem_init(); }
    ~Session() { shmem_finalize(); }
};

static Session session;
static long from_left = -1;

int main()
{
    const int me = shmem_my_pe(), npes = shmem_n_pes(), left = (me + npes - 1) % npes, right = (me + 1) % npes;
    long *block = static_cast<long *>(shmem_malloc(sizeof(long)));
    shmem_long_p(&from_left, me, right);
    shmem_ctx_long_p(SHMEM_CTX_DEFAULT, block, me, right);
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    if (shmem_team_sync(SHMEM_TEAM_WORLD) != 0)
        return 2;
    const bool came = from_left == left && *block == left && shmem_team_n_pes(SHMEM_TEAM_WORLD) == npes;
    shmem_free(block);
    return came ? 0 : 3;
}
