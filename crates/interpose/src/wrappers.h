/* What the generated wrappers need: the types of the calls, and the functions that record them (src/record.rs). */
#include <stddef.h>
#include <stdint.h>

typedef struct oxshmem_context *shmem_ctx_t;
typedef struct oxshmem_team *shmem_team_t;
typedef struct oxshmem_counter *shmemx_ct_t;
typedef struct oxshmem_request *shmem_req_h;
typedef struct shmem_team_config shmem_team_config_t;
typedef struct shmem_ctx_session_config shmem_ctx_session_config_t;
typedef struct shmemx_pcntr shmemx_pcntr_t;
/* The IEEE type of 128 bits, which is long double where the processor has no other. */
#if __LDBL_MANT_DIG__ == 113
typedef long double real16_t;
#else
typedef __float128 real16_t;
#endif

/* A routine: its name for the linker, its name as programs spell it, and its kind. */
struct oxprof_routine {
    const char *symbol;
    const char *name;
    uint32_t category;
    uint32_t reserved;
};

/* A call that has begun: its place in the ledger + 1, or 0 if it is not recorded; that of the call in which it is made, or 0; and when,
 * or 0 if it is not timed. */
struct oxprof_begun {
    uint32_t site;
    uint32_t outer;
    uint64_t start;
};

struct oxprof_ledger;

/* The ledger of this thread. The library is there before the program starts, so its variable has a fixed place. */
__thread struct oxprof_ledger *oxprof_mine __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct oxprof_ledger *oxprof_attach(void);
struct oxprof_begun oxprof_begin(struct oxprof_ledger *mine, const struct oxprof_routine *routine, const void *caller);
struct oxprof_begun oxprof_open(struct oxprof_ledger *mine, const struct oxprof_routine *routine, const void *caller);
struct oxprof_ledger *oxprof_begin_life(struct oxprof_ledger *mine, struct oxprof_begun call);
void oxprof_exit(struct oxprof_ledger *mine, struct oxprof_begun call);
void oxprof_leave(struct oxprof_ledger *mine);
void oxprof_end_life(struct oxprof_ledger *mine, struct oxprof_begun call);
void oxprof_call(struct oxprof_ledger *mine, struct oxprof_begun call, uint32_t category, uint64_t bytes);
void oxprof_transfer(struct oxprof_ledger *mine, struct oxprof_begun call, const void *context, int pe, uint32_t way,
                     uint64_t bytes, const void *word);
void oxprof_team(struct oxprof_ledger *mine, struct oxprof_begun call, const void *team, uint64_t bytes);
void oxprof_set(struct oxprof_ledger *mine, struct oxprof_begun call, int start, int stride, int size, uint64_t bytes);
void oxprof_world(struct oxprof_ledger *mine, struct oxprof_begun call, uint64_t bytes, const void *address);
void oxprof_wait(struct oxprof_ledger *mine, struct oxprof_begun call, const void *address);
void oxprof_born(struct oxprof_ledger *mine, const void *team);
void oxprof_forget(const void *handle);
void oxprof_control(int level);
const void *oxprof_fortran_team(int64_t handle);
int oxprof_members(const void *team);

/* The bytes that a PE brings to an exchange of blocks of different sizes. */
static inline uint64_t oxprof_sum(const void *sizes, int members) {
    uint64_t sum = 0;
    for (int member = 0; member < members; ++member) {
        sum += ((const uint64_t *)sizes)[member];
    }
    return sum;
}

/* The child of a fork has no ledger. */
void oxprof_detach(void) {
    oxprof_mine = NULL;
}

/* Runs behind the functions of atexit, with one of which the library ends the life of a program of start_pes. */
__attribute__((destructor)) static void oxprof_at_exit(void) {
    if (oxprof_mine != NULL) {
        oxprof_leave(oxprof_mine);
    }
}

#define OXPROF_BEGIN(number)                                                                                   \
    struct oxprof_ledger *mine = oxprof_mine;                                                                  \
    if (__builtin_expect(mine == NULL, 0)) {                                                                   \
        mine = oxprof_mine = oxprof_attach();                                                                  \
    }                                                                                                          \
    const struct oxprof_begun call =                                                                           \
        oxprof_begin(mine, &oxprof_routines[number], __builtin_return_address(0))
