/* Compiles as every edition of C from C99 and of C++ from C++98. */
#include <shmem.h>
#include <shmemx.h>
#include <pshmem.h>

#if !defined(OSHMEM_SPEC_VERSION) || OSHMEM_SPEC_VERSION < 10200
#error "this program needs OpenSHMEM 1.2"
#endif
#if OSHMEM_SPEC_VERSION != SHMEM_MAJOR_VERSION * 10000 + SHMEM_MINOR_VERSION * 100
#error "two versions"
#endif

static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_INVALID};
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static long cell;

int main(void)
{
    int wrong;
    long value = 5;
    shmem_init();
    shmem_long_put(&cell, &value, 1, shmem_my_pe());
    shmemx_long_put_nb(&cell, &value, 1, shmem_my_pe());
    shmem_quiet();
    wrong = teams[0] == teams[1] || cell != 5 || contexts[0] == contexts[1];
    shmem_finalize();
    return wrong;
}
