/* Handles that stand for nothing, while the library is initialised. */
#include <shmem.h>
#include <string.h>

static long a[8];
static long zeros[16];

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    shmem_ctx_t context, of_team;
    shmem_team_t team;
    shmem_init();
    shmem_ctx_create(0, &context);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
    shmem_team_create_ctx(team, 0, &of_team);
    if (!strcmp(what, "destroyed")) {
        shmem_ctx_destroy(context);
        shmem_ctx_long_p(context, a, 1, 0);
    } else if (!strcmp(what, "of_destroyed_team")) {
        shmem_team_destroy(team);
        shmem_ctx_long_put(of_team, a, a + 1, 1, 0);
    } else if (!strcmp(what, "zeroed_context")) {
        shmem_ctx_long_p((shmem_ctx_t)zeros, a, 1, 0);
    } else if (!strcmp(what, "zeroed_team")) {
        shmem_team_sync((shmem_team_t)zeros);
    } else if (!strcmp(what, "after")) {
        shmem_finalize();
        shmem_ctx_long_p(SHMEM_CTX_DEFAULT, a, 1, 0);
    }
    shmem_finalize();
    return 0;
}
