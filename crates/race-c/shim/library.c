/* The library that a program of C, C++ or Fortran is linked with, as the detector sees it. */
#include "race.h"

/* The generated calls define both. */
extern const char *const race_calls[];
extern const size_t race_call_count;

static const char *call_name(uint16_t call) { return call < race_call_count ? race_calls[call] : NULL; }

/* The library's own, which no header declares. */
int oxshmem_is_team(shmem_team_t team);
int oxshmem_is_context(shmem_ctx_t ctx);

static const struct race_library library = {
    .my_pe = pshmem_my_pe,
    .n_pes = pshmem_n_pes,
    .barrier_all = pshmem_barrier_all,
    .query_thread = pshmem_query_thread,
    .query_initialized = pshmem_query_initialized,
    .allocate = pshmem_malloc,
    .release = pshmem_free,
    .getmem = pshmem_getmem,
    .address_of = pshmem_ptr,
    .accessible = pshmem_addr_accessible,
    .team_my_pe = pshmem_team_my_pe,
    .team_n_pes = pshmem_team_n_pes,
    .team_translate_pe = pshmem_team_translate_pe,
    .team_of = pshmem_ctx_get_team,
    .is_team = oxshmem_is_team,
    .is_context = oxshmem_is_context,
    .world = SHMEM_TEAM_WORLD,
    .shared = SHMEM_TEAM_SHARED,
    .node = SHMEM_TEAM_NODE,
    .default_context = SHMEM_CTX_DEFAULT,
    .call_name = call_name,
    .this_thread = race_this_thread,
    .is_another = race_is_another,
    .found = race_found,
    .in_rust = 0,
};

/* Whether the detector has begun in this process, or has said that it has not. */
static int begun;

/* Before the program registers handlers of its own, which run in a child after those that were registered earlier. */
static __attribute__((constructor)) void watch_forks(void) { race_watch_forks(); }

void race_begin(void)
{
    begun = 1;
    race_begin_with(&library);
}

/* A program may define init itself, and call the library's by its profiling name. */
void race_unbegun(void)
{
    int initialized = 0;
    if (begun)
        return;
    pshmem_query_initialized(&initialized);
    begun = initialized;
    if (initialized && pshmem_my_pe() == 0)
        race_unwatched();
}
