/* Active sets: their members as lists, every legal one for the running number of PEs, and pSync arrays that must stay as they were. */
#ifndef TEAMS_ACTIVE_SET_H
#define TEAMS_ACTIVE_SET_H

#include "membership.h"

struct active_set {
    int start, log_stride, size;
};

static inline struct members members_of(struct active_set set)
{
    struct members all = everyone();
    return triplet_of(&all, set.start, 1 << set.log_stride, set.size);
}

#define FOR_EACH_ACTIVE_SET(SET) \
    for (struct active_set SET = {0, 0, 1}; SET.start < npes; SET.start++) \
        for (SET.log_stride = 0; 1 << SET.log_stride <= npes; SET.log_stride++) \
            for (SET.size = 1; SET.start + ((SET.size - 1) << SET.log_stride) < npes; SET.size++)

/* Enough for every collective, initialised before the program starts, as old programs have it. */
#define SYNC_ARRAYS(NAME, COUNT) static long NAME[COUNT][SHMEM_SYNC_SIZE] = {[0 ...(COUNT) - 1] = {[0 ... SHMEM_SYNC_SIZE - 1] = SHMEM_SYNC_VALUE}}

static inline bool is_restored(const long *psync)
{
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        if (psync[i] != SHMEM_SYNC_VALUE) {
            fprintf(stderr, "PE %d: pSync[%d] is %ld on return\n", me, i, psync[i]);
            return false;
        }
    return true;
}

static inline long *sync_array_on_heap(void)
{
    long *psync = shmem_malloc(SHMEM_SYNC_SIZE * sizeof *psync);
    REQUIRE(psync != NULL);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++) psync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    return psync;
}

#endif
