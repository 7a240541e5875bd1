// The handles that stand for nothing, for programs that are compiled without casts of C and without 0 as a pointer.
#include <shmemx.h>
shmem_ctx_t context = SHMEM_CTX_INVALID;
shmem_team_t teams[] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_NULL};
shmem_req_h request = SHMEM_REQ_INVALID;
