/* The predefined handles are constants, and objects of the library for tools that cannot read macros. */
#include <shmemx.h>

static const shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_NODE, SHMEM_TEAM_INVALID, SHMEM_TEAM_NULL};
static const shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};

/* What a tool sees that leaves macros aside. */
#undef SHMEM_TEAM_WORLD
#undef SHMEM_TEAM_SHARED
#undef SHMEM_TEAM_NODE
#undef SHMEM_TEAM_INVALID
#undef SHMEM_TEAM_NULL
#undef SHMEM_CTX_DEFAULT
#undef SHMEM_CTX_INVALID

int main(void)
{
    const shmem_team_t objects[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_NODE, SHMEM_TEAM_INVALID, SHMEM_TEAM_NULL};
    shmem_init();
    int wrong = contexts[0] != SHMEM_CTX_DEFAULT || contexts[1] != SHMEM_CTX_INVALID;
    for (int i = 0; i < 5; i++)
        wrong |= objects[i] != teams[i];
    wrong |= shmem_team_n_pes(SHMEM_TEAM_WORLD) != shmem_n_pes();
    shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
    shmem_finalize();
    return wrong;
}
