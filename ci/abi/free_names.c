// Names that the headers must leave to the program, and constants of the headers, in C and in C++.
#define I 1
#define complex 2
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmem.h>
#undef I
#undef complex

static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static long sync[SHMEM_REDUCE_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
float I;

int complex(int value);
int complex(int value) {
    switch (value) {
    case SHMEM_CMP_EQ: return (int) I;
    case SHMEM_SIGNAL_ADD + 100: break;
    }
    return contexts[0] == contexts[1] || teams[0] == teams[1] || sync[0] || SIZE_MAX == 0;
}
