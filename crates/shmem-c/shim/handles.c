/* The objects whose addresses are the predefined handles. They are defined in C because a program that is not
 * position independent gets its own copy of them; the C compiler reads their addresses where the linker puts them. */
#include "shmem.h"

/* For tools that make bindings. A C program takes the macros, which are constants. */
#undef SHMEM_CTX_DEFAULT
#undef SHMEM_CTX_INVALID
#undef SHMEM_TEAM_WORLD
#undef SHMEM_TEAM_SHARED
#undef SHMEM_TEAM_INVALID
extern const shmem_team_t SHMEM_TEAM_NULL, SHMEM_TEAM_NODE; /* declared by shmemx.h only */
extern struct oxshmem_team oxshmem_team_node;
const shmem_ctx_t SHMEM_CTX_DEFAULT = &oxshmem_context_default;
const shmem_ctx_t SHMEM_CTX_INVALID = 0;
const shmem_team_t SHMEM_TEAM_WORLD = &oxshmem_team_world;
const shmem_team_t SHMEM_TEAM_SHARED = &oxshmem_team_shared;
const shmem_team_t SHMEM_TEAM_INVALID = 0;
const shmem_team_t SHMEM_TEAM_NULL = 0;
const shmem_team_t SHMEM_TEAM_NODE = &oxshmem_team_node;

#define INTERNAL __attribute__((visibility("hidden")))

struct oxshmem_context oxshmem_context_default;
struct oxshmem_team oxshmem_team_world;
struct oxshmem_team oxshmem_team_shared;
struct oxshmem_team oxshmem_team_node;

INTERNAL void *oxshmem_default_context_object(void);
INTERNAL void *oxshmem_team_world_object(void);
INTERNAL void *oxshmem_team_shared_object(void);
INTERNAL void *oxshmem_team_node_object(void);

void *oxshmem_default_context_object(void) { return &oxshmem_context_default; }
void *oxshmem_team_world_object(void) { return &oxshmem_team_world; }
void *oxshmem_team_shared_object(void) { return &oxshmem_team_shared; }
void *oxshmem_team_node_object(void) { return &oxshmem_team_node; }
