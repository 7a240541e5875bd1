/* Nonblocking collectives: each PE waits for them in an order of its own, or tests them between other calls. */
#include "random.h"

enum { REQUESTS = 24 };
typedef struct {
    shmem_req_h handle;
    shmem_team_t team;
    void (*check)(void *, size_t, int);
    void *dest;
    size_t n;
    int type, open;
    char about[sizeof about];
} request;
static request requests[REQUESTS];
static request *latest;

static void over(request *of)
{
    of->open = 0;
    if (of->handle != SHMEM_REQ_INVALID)
        wrong("the handle of a request that is over", 1, 0);
    char now[sizeof about];
    memcpy(now, about, sizeof now);
    memcpy(about, of->about, sizeof about);
    if (of->check)
        of->check(of->dest, of->n, of->type);
    memcpy(about, now, sizeof about);
}

static void wait_for(request *of)
{
    if (shmem_req_wait(&of->handle) != 0)
        wrong("shmem_req_wait", 1, 0);
    over(of);
}

shmem_req_h *new_request(const group *of)
{
    latest = NULL;
    for (int i = 0; i < REQUESTS && !latest; i++)
        if (!requests[i].open)
            latest = &requests[i];
    if (!latest) {
        latest = &requests[mixed(seed + (uint64_t)step + (uint64_t)me) % REQUESTS];
        wait_for(latest);
    }
    latest->team = of->team;
    return &latest->handle;
}

void under_way(void (*check)(void *, size_t, int), void *dest, size_t n, int type)
{
    latest->check = check;
    latest->dest = dest;
    latest->n = n;
    latest->type = type;
    latest->open = 1;
    memcpy(latest->about, about, sizeof about);
}

void poll_requests(void)
{
    for (int i = 0; i < REQUESTS; i++)
        if (requests[i].open && shmem_req_test(&requests[i].handle) == 0)
            over(&requests[i]);
}

void wait_for_some(void)
{
    /* A choice of this PE alone. */
    const uint64_t chosen = mixed(seed ^ (uint64_t)step << 20 ^ (uint64_t)me);
    if (chosen % 8 == 0) {
        request *of = &requests[chosen / 8 % REQUESTS];
        if (of->open)
            wait_for(of);
    } else if (chosen % 8 < 3) {
        poll_requests();
    }
}

void wait_for_team(const group *of)
{
    for (int i = 0; i < REQUESTS; i++)
        if (requests[i].open && requests[i].team == of->team)
            wait_for(&requests[i]);
}

void wait_for_all(void)
{
    const int first = (int)(mixed(seed + (uint64_t)step * 64 + (uint64_t)me) % REQUESTS);
    for (int i = 0; i < REQUESTS; i++)
        if (requests[(first + i) % REQUESTS].open)
            wait_for(&requests[(first + i) % REQUESTS]);
}
