/* Collectives that only move data beside both processes copying, at the same time, the bytes each must move. */
#include "bench.h"

enum { BYTES = 1 << 20 };

static char *source, *far_source, *dest;

static void copy_half(void)
{
    memcpy(dest, me ? far_source : source, BYTES);
    flag_barrier();
}

static void copy_both(void)
{
    memcpy(dest + me * BYTES, source, BYTES);
    memcpy(dest + peer * BYTES, far_source, BYTES);
    flag_barrier();
}

static void copy_crosswise(void)
{
    memcpy(dest + me * BYTES, source + me * BYTES, BYTES);
    memcpy(dest + peer * BYTES, far_source + me * BYTES, BYTES);
    flag_barrier();
}

BATCH(bare_broadcast, copy_half())
BATCH(bare_fcollect, copy_both())
BATCH(bare_alltoall, copy_crosswise())
BATCH(broadcast, (shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, BYTES, 0), shmem_sync_all()))
BATCH(fcollect, shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, BYTES))
BATCH(alltoall, shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, BYTES))

void moves(void)
{
    source = symmetric(2 * BYTES);
    dest = symmetric(2 * BYTES);
    far_source = theirs(source);
    row("broadcast 1 MiB", bare_broadcast, broadcast);
    row("fcollect 1 MiB", bare_fcollect, fcollect);
    row("alltoall 1 MiB", bare_alltoall, alltoall);
}
