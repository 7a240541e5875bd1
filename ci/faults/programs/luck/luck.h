/* Programs that rest on an order of the network, and programs that do not. A wrong value ends the job with status 1. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(what, wanted)                                                                              \
    do {                                                                                                  \
        long expect_seen = (long)(what);                                                                  \
        if (expect_seen != (long)(wanted)) {                                                              \
            printf("PE %d: %s is %ld, not %ld\n", shmem_my_pe(), #what, expect_seen, (long)(wanted));     \
            fflush(stdout);                                                                               \
            shmem_global_exit(1);                                                                         \
        }                                                                                                 \
    } while (0)

enum { WORDS = 32 };
