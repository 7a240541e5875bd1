/* A random differential test of the whole library. All PEs draw the same operations from a seed, and each computes from seed and
 * step alone what every word of its memory has to hold.
 *
 * Destinations and work arrays lie in a pool and are fresh for every call: the pool is filled anew between two barriers, which begin
 * a phase. A second copy of the pool (the model) holds what is expected; operations write there what they have to bring about. A
 * destination is compared with its guards as soon as the standard says that it is complete, and the whole pool at the end of the
 * phase: so a byte that arrives late or at the wrong place is seen as well. */
#ifndef RANDOM_H
#define RANDOM_H

#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PES = 64, POOL = 8 << 20, GUARD = 64, MOST_BYTES = 1 << 20 };

extern int me, npes, step;
extern uint64_t seed;
extern char about[160]; /* what the current operation is, for the report */

/* draws.c */
uint64_t mixed(uint64_t value);
uint64_t draw(void);                   /* the same on all PEs */
size_t below(size_t bound);            /* a draw below the bound */
int one_in(size_t times);              /* whether a draw says so */
size_t any_count(size_t element, size_t most); /* elements: often at a limit of the library, or one beside it */
uint64_t key_of(int pe);               /* of the data that a PE contributes to this step */
void stream(void *to, uint64_t key, size_t from, size_t bytes); /* a part of the data of a key */
void dawdle(void);                     /* now and then, a PE that the seed chooses is late */

/* pool.c */
void pool_open(void);
void room_for(size_t bytes, int places); /* begins a phase where so much does not fit */
void phase(void);
void *fresh(size_t bytes);             /* the same address on all PEs, with guards around it */
void *model(void *place);              /* where the expected content of a part of the pool is */
uint64_t initial(void *place, int pe); /* what an aligned word of a PE's pool holds since the phase began */
void settled(void *place, size_t bytes); /* compares it and its guards with the model */
void written_again(void *source, size_t bytes); /* the program changes a source whose call is over */
void undefined(void *place, size_t bytes); /* any content is right */
long *fresh_psync(void);               /* an array of SHMEM_SYNC_VALUE that no call of this phase has had */
_Noreturn void wrong(const char *what, uint64_t found, uint64_t expected);

/* groups.c: the members of teams and active sets. Every PE knows those of every group, whether it is a member or not. */
typedef struct {
    shmem_team_t team; /* invalid for an active set */
    int active, start, log_stride;
    int size, member[MOST_PES], my; /* my place, or -1 */
    int alive;
    char name[64];
} group;
group *any_team(void);
group any_group(void); /* a team or an active set */
void groups_open(void);
void change_teams(void);
void meet(void);

/* contexts.c: contexts, and what is under way on them. Context 0 is the default one. */
enum { CONTEXTS = 5 };
void contexts_open(void);
void change_contexts(void);
void contexts_of_team_end(const group *team);
int any_context(int origin, int target);      /* one that reaches the target; the same draw on all PEs */
shmem_ctx_t context(int index);
int number_in(int index, int pe);             /* the PE's number on the context */
void *lend(int index, size_t bytes);          /* local memory that an operation uses until the context's quiet */
void *expected_of(void *lent);                /* what it has to hold then, for the caller to write */
void quiet_on(int index);
void quiet_all(void);

/* requests.c: nonblocking collectives under way. */
shmem_req_h *new_request(const group *of);    /* the place for a handle; `under_way` follows the call */
void under_way(void (*check)(void *, size_t, int), void *dest, size_t n, int type);
void wait_for_some(void);
void wait_for_team(const group *of);
void wait_for_all(void);
void poll_requests(void);                     /* tests each; what is over is checked */

/* the operations: one step each */
void movement(void);
void stream_of_broadcasts(void);
void reduction(void);
void transfers(void);
void signals(void);
void atomics(void);
void lock_steps(void);
void allocation(void);

#endif
