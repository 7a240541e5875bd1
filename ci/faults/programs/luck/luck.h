/* The frame of programs that rest on an order of the network, and of programs that do not: each has a `run`. A wrong value ends the
 * job with status 1. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(what, wanted)                                                                              \
    do {                                                                                                  \
        long expect_seen = (long)(what);                                                                  \
        if (expect_seen != (long)(wanted)) {                                                              \
            printf("PE %d: %s is %ld, not %ld\n", me, #what, expect_seen, (long)(wanted));                \
            fflush(stdout);                                                                               \
            shmem_global_exit(1);                                                                         \
        }                                                                                                 \
    } while (0)

enum { WORDS = 32 };

#ifndef OWN_MAIN
static int me, npes;

/* What it leaves under way has a source that outlives it. */
static void run(void);

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    run();
    shmem_finalize();
}
#endif
