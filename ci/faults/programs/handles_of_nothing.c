/* Handles that stand for nothing, while the library is initialised. */
#include <shmem.h>
#include <string.h>

static long a[8];
static long zeros[16];
/* What is no team, in the place where a team points to what it is. */
static unsigned char noise[1 << 16];
static void *elsewhere[8] = {noise};

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
    } else if (!strncmp(what, "noisy_team", 10)) {
        memset(noise, 0x5a, sizeof noise);
        shmem_team_t garbage = (shmem_team_t)elsewhere;
        if (!strcmp(what, "noisy_team_sum")) shmem_long_sum_reduce(garbage, a, a + 4, 4);
        else if (!strcmp(what, "noisy_team_split"))
            shmem_team_split_strided(garbage, 0, 1, 1, NULL, 0, &team);
        else if (!strcmp(what, "noisy_team_destroy")) shmem_team_destroy(garbage);
        else shmem_team_sync(garbage);
    } else if (!strcmp(what, "after")) {
        shmem_finalize();
        shmem_ctx_long_p(SHMEM_CTX_DEFAULT, a, 1, 0);
    }
    shmem_finalize();
    return 0;
}
