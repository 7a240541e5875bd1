/* The objects whose addresses are the predefined handles. They are defined in C because a program that is not
 * position independent gets its own copy of them; the C compiler reads their addresses where the linker puts them. */
#include "shmem.h"

#define INTERNAL __attribute__((visibility("hidden")))

struct oxshmem_context oxshmem_context_default;
struct oxshmem_team oxshmem_team_world;
struct oxshmem_team oxshmem_team_shared;
extern struct oxshmem_team oxshmem_team_node; /* declared by shmemx.h only */
struct oxshmem_team oxshmem_team_node;

INTERNAL void *oxshmem_default_context_object(void);
INTERNAL void *oxshmem_team_world_object(void);
INTERNAL void *oxshmem_team_shared_object(void);
INTERNAL void *oxshmem_team_node_object(void);

void *oxshmem_default_context_object(void) { return &oxshmem_context_default; }
void *oxshmem_team_world_object(void) { return &oxshmem_team_world; }
void *oxshmem_team_shared_object(void) { return &oxshmem_team_shared; }
void *oxshmem_team_node_object(void) { return &oxshmem_team_node; }
