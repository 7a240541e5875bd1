/* Uses a handle of a team or context that stands for nothing: ARGUMENTS call, what is wrong with the handle.
 * Without arguments: prints the names of the calls. "correct": makes, uses and destroys many handles. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long cell, other;
static long source[4], dest[64];
static uint64_t signal_word;
static shmem_team_t made;
static shmem_ctx_t context;

static void on_team(const char *call, shmem_team_t team) {
    shmem_team_t new_team;
    shmem_ctx_t new_context;
    shmem_team_config_t config;
#define IS(name) (strcmp(call, name) == 0)
    if (IS("shmem_team_my_pe")) shmem_team_my_pe(team);
    else if (IS("shmem_team_n_pes")) shmem_team_n_pes(team);
    else if (IS("shmem_team_translate_pe")) shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team);
    else if (IS("shmem_team_get_config")) shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config);
    else if (IS("shmem_team_sync")) shmem_team_sync(team);
    else if (IS("shmem_team_ptr")) shmem_team_ptr(team, &cell, 0);
    else if (IS("shmem_team_split_strided")) shmem_team_split_strided(team, 0, 1, 1, NULL, 0, &new_team);
    else if (IS("shmem_team_split_2d")) shmem_team_split_2d(team, 1, NULL, 0, &new_team, NULL, 0, &new_team);
    else if (IS("shmem_team_create_ctx")) shmem_team_create_ctx(team, 0, &new_context);
    else if (IS("shmem_team_destroy")) shmem_team_destroy(team);
    else if (IS("shmem_long_sum_reduce")) shmem_long_sum_reduce(team, dest, source, 4);
    else if (IS("shmem_long_broadcast")) shmem_long_broadcast(team, dest, source, 4, 0);
    else if (IS("shmem_long_fcollect")) shmem_long_fcollect(team, dest, source, 4);
    else if (IS("shmemx_team_barrier")) shmemx_team_barrier(team, source);
    else exit(3);
}

static void on_context(const char *call, shmem_ctx_t ctx) {
    shmem_team_t team;
    if (IS("shmem_ctx_long_p")) shmem_ctx_long_p(ctx, &cell, 1, 0);
    else if (IS("shmem_ctx_long_g")) shmem_ctx_long_g(ctx, &cell, 0);
    else if (IS("shmem_ctx_long_put")) shmem_ctx_long_put(ctx, dest, source, 4, 0);
    else if (IS("shmem_ctx_long_get")) shmem_ctx_long_get(ctx, source, dest, 4, 0);
    else if (IS("shmem_ctx_long_put_nbi")) shmem_ctx_long_put_nbi(ctx, dest, source, 4, 0);
    else if (IS("shmem_ctx_long_iput")) shmem_ctx_long_iput(ctx, dest, source, 2, 1, 2, 0);
    else if (IS("shmem_ctx_long_put_signal"))
        shmem_ctx_long_put_signal(ctx, dest, source, 4, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
    else if (IS("shmem_ctx_long_atomic_add")) shmem_ctx_long_atomic_add(ctx, &cell, 1, 0);
    else if (IS("shmem_ctx_long_atomic_fetch")) shmem_ctx_long_atomic_fetch(ctx, &cell, 0);
    else if (IS("shmem_ctx_long_atomic_swap")) shmem_ctx_long_atomic_swap(ctx, &cell, 1, 0);
    else if (IS("shmem_ctx_fence")) shmem_ctx_fence(ctx);
    else if (IS("shmem_ctx_quiet")) shmem_ctx_quiet(ctx);
    else if (IS("shmem_ctx_get_team")) shmem_ctx_get_team(ctx, &team);
    else if (IS("shmem_ctx_session_start")) shmem_ctx_session_start(ctx, 0, NULL, 0);
    else if (IS("shmem_ctx_session_stop")) shmem_ctx_session_stop(ctx);
    else if (IS("shmem_ctx_destroy")) shmem_ctx_destroy(ctx);
    else exit(3);
}

static const char *const CALLS[] = {
    "shmem_team_my_pe", "shmem_team_n_pes", "shmem_team_translate_pe", "shmem_team_get_config", "shmem_team_sync",
    "shmem_team_ptr", "shmem_team_split_strided", "shmem_team_split_2d", "shmem_team_create_ctx", "shmem_team_destroy",
    "shmem_long_sum_reduce", "shmem_long_broadcast", "shmem_long_fcollect", "shmemx_team_barrier", "shmem_ctx_long_p",
    "shmem_ctx_long_g", "shmem_ctx_long_put", "shmem_ctx_long_get", "shmem_ctx_long_put_nbi", "shmem_ctx_long_iput",
    "shmem_ctx_long_put_signal", "shmem_ctx_long_atomic_add", "shmem_ctx_long_atomic_fetch",
    "shmem_ctx_long_atomic_swap", "shmem_ctx_fence", "shmem_ctx_quiet", "shmem_ctx_get_team",
    "shmem_ctx_session_start", "shmem_ctx_session_stop", "shmem_ctx_destroy",
};

/* Makes the handles of one round and uses them as one should. */
static void make(void) {
    int pes = shmem_n_pes();
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &made);
    shmem_team_create_ctx(made, 0, &context);
    shmem_ctx_long_p(context, &cell, shmem_team_my_pe(made), (shmem_team_my_pe(made) + 1) % pes);
    shmem_ctx_quiet(context);
    shmem_team_sync(made);
}

int main(int argc, char **argv) {
    if (argc == 1) {
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) puts(CALLS[i]);
        return 0;
    }
    shmem_init();
    make();
    if (strcmp(argv[1], "correct") == 0) {
        for (int round = 0; round < 50; round++) {
            shmem_ctx_destroy(context);
            shmem_team_destroy(made);
            make();
            if (shmem_team_n_pes(SHMEM_TEAM_INVALID) != -1) return 1;
        }
        shmem_ctx_destroy(SHMEM_CTX_INVALID);
        shmem_team_destroy(SHMEM_TEAM_INVALID);
        shmem_barrier_all();
        /* The context ends with its team. */
        shmem_team_destroy(made);
        shmem_finalize();
        return 0;
    }
    const char *wrong = argv[2];
    shmem_team_t team = made;
    shmem_ctx_t ctx = context;
    if (strcmp(wrong, "destroyed") == 0) {
        shmem_ctx_destroy(ctx);
        shmem_team_destroy(team);
    } else if (strcmp(wrong, "teamless") == 0) {
        shmem_team_destroy(team);
    } else if (strcmp(wrong, "garbage") == 0) {
        team = (shmem_team_t)(uintptr_t)0x31337;
        ctx = (shmem_ctx_t)(uintptr_t)0x31337;
    } else if (strcmp(wrong, "swapped") == 0) {
        team = (shmem_team_t)context;
        ctx = (shmem_ctx_t)made;
    } else if (strcmp(wrong, "private") == 0) {
        team = (shmem_team_t)malloc(256);
        ctx = (shmem_ctx_t)malloc(256);
    } else if (strcmp(wrong, "former") == 0) {
        /* The handles are left to the last finalize, and those of the next life have other addresses. */
        shmem_finalize();
        shmem_init();
        make();
    } else if (strcmp(wrong, "invalid") == 0) {
        team = SHMEM_TEAM_INVALID;
        ctx = SHMEM_CTX_INVALID;
    }
    shmem_barrier_all();
    if (strncmp(argv[1], "shmem_ctx", 9) == 0) on_context(argv[1], ctx);
    else on_team(argv[1], team);
    other = cell;
    printf("%s has returned\n", argv[1]);
    shmem_finalize();
    return 0;
}
