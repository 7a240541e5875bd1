// A tool that takes the place of a routine and calls it by its profiling name.
#include <shmem.h>
#include <pshmem.h>

static int seen;
static int from = 7, to;

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {
    seen++;
    pshmem_int_put(dest, source, nelems, pe);
}

int main(void) {
    shmem_init();
    shmem_int_put(&to, &from, 1, shmem_my_pe());
    shmem_quiet();
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int wrong = seen != 1 || to != 7 || shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) || team != SHMEM_TEAM_WORLD;
    shmem_finalize();
    return wrong;
}
