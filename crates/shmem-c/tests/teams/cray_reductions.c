/* The team extensions that combine elements: the results of shmem_<T>_<op>_reduce, and no work array is touched. */
#include "membership.h"

#include <shmemx.h>

/* Both routines on the same elements. `pWrk` and `pSync` may be anything. */
#define SAME(T, OP)                                                                         \
    do {                                                                                    \
        static T source[5], dest[5], want[5];                                               \
        for (int i = 0; i < 5; i++) source[i] = (T) (me + 2 * i + 1);                       \
        shmemx_team_##T##_##OP##_to_all(dest, source, 5, team, NULL, NULL);                 \
        CHECK(shmem_##T##_##OP##_reduce(team, want, source, 5) == 0);                       \
        for (int i = 0; i < 5; i++) CHECK(!(dest[i] < want[i]) && !(dest[i] > want[i]));    \
        shmem_team_sync(team);                                                              \
    } while (0)
#define SAME_BITWISE(T) SAME(T, and); SAME(T, or); SAME(T, xor)
#define SAME_ARITHMETIC(T) SAME(T, max); SAME(T, min); SAME(T, sum); SAME(T, prod)

static void compare(shmem_team_t team)
{
    SAME_BITWISE(short);
    SAME_BITWISE(int);
    SAME_BITWISE(long);
    SAME_ARITHMETIC(short);
    SAME_ARITHMETIC(int);
    SAME_ARITHMETIC(long);
    SAME_ARITHMETIC(float);
    SAME_ARITHMETIC(double);
}

TEST(EXT_15, "shmemx_team_<T>_<op>_to_all: the results of the standard's reductions, on the world and on part of it")
{
    static long source, dest;
    compare(SHMEM_TEAM_WORLD);
    source = me + 1;
    shmemx_team_long_sum_to_all(&dest, &source, 1, SHMEM_TEAM_WORLD, NULL, NULL);
    CHECK(dest == (long) npes * (npes + 1) / 2);
    shmem_team_t part;
    shmemx_team_split(SHMEM_TEAM_WORLD, me % 2, me, &part);
    compare(part);
    shmemx_team_long_max_to_all(&dest, &source, 1, part, NULL, NULL);
    CHECK(dest == npes - (npes - 1 - me) % 2);
    shmemx_team_destroy(&part);
}

TEST(EXT_15_count, "shmemx_team_long_sum_to_all ends the job and names nreduce", .aborts = 1,
     .says = "shmemx_team_long_sum_to_all|nreduce")
{
    static long source, dest;
    shmemx_team_long_sum_to_all(&dest, &source, -1, SHMEM_TEAM_WORLD, NULL, NULL);
}
