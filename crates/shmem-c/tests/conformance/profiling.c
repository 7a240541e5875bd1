/* A profiling layer: this program defines shmem_ names itself and calls the twins. */
// build:
// build: -static -fno-pie
#include "check.h"
#include <pshmem.h>

static int puts_seen, barriers_seen, inits_seen, mallocs_seen;

void shmem_init(void) { inits_seen++; pshmem_init(); }
void shmem_barrier_all(void) { barriers_seen++; pshmem_barrier_all(); }
void *shmem_malloc(size_t size) { mallocs_seen++; return pshmem_malloc(size); }
void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_long_put(dest, source, nelems, pe);
}

TEST(PRF_1, "a tool may define a shmem_ name and call its twin; the twin does not call back")
{
    static long target;
    const long value = 50 + me;
    CHECK_EQ(inits_seen, 1);
    shmem_long_put(&target, &value, 1, right_pe());
    shmem_barrier_all();
    CHECK_EQ(target, 50 + left_pe());
    CHECK_EQ(puts_seen, 1);
    CHECK_EQ(barriers_seen, 1);
    CHECK(shmem_malloc(8) != NULL);
    CHECK_EQ(mallocs_seen, 1);
    CHECK_EQ(barriers_seen, 1);
    pshmem_barrier_all();
    CHECK_EQ(barriers_seen, 1);
}
