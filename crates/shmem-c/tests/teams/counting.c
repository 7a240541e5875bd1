/* Counting events of Sandia OpenSHMEM: counters that transfers raise at the PE whose memory they use. */
#include "membership.h"

#include <shmemx.h>

enum { LONGEST = 100000 };
static char in[LONGEST], out[LONGEST];

TEST(EXT_16, "a put adds one to the counter of its target, which then has the data; a get to that of its source")
{
    shmemx_ct_t ct;
    shmemx_ct_create(&ct);
    CHECK(shmemx_ct_get(ct) == 0);
    static const size_t sizes[] = {0, 1, 8, 1000, LONGEST};
    int left = (me + npes - 1) % npes, right = (me + 1) % npes;
    long count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(out, 1 + me + (int) i, LONGEST);
        memset(in, 0, LONGEST);
        shmem_barrier_all();
        shmemx_putmem_ct(ct, in, out, sizes[i], right);
        shmemx_ct_wait(ct, ++count);
        for (size_t at = 0; at < LONGEST; at++) CHECK(in[at] == (at < sizes[i] ? 1 + left + (int) i : 0));
        shmem_barrier_all();
        CHECK(shmemx_ct_get(ct) == count);
    }
    memset(in, 0, LONGEST);
    shmem_barrier_all();
    shmemx_getmem_ct(ct, in, out, LONGEST, right);
    CHECK(in[0] == out[0] - me + right && in[LONGEST - 1] == in[0]);
    shmemx_ct_wait(ct, count + 1);
    CHECK(shmemx_ct_get(ct) == count + 1);
    shmem_barrier_all();
    shmemx_ct_set(ct, -3);
    CHECK(shmemx_ct_get(ct) == -3);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) shmemx_putmem_ct(ct, &in[me], &out[me], 1, pe);
    shmemx_ct_wait(ct, npes - 3);
    CHECK(shmemx_ct_get(ct) == npes - 3);
    shmemx_ct_free(&ct);
    CHECK(ct == NULL);
}

TEST(EXT_16_two, "two counters count apart")
{
    shmemx_ct_t first, second;
    shmemx_ct_create(&first);
    shmemx_ct_create(&second);
    shmemx_putmem_ct(first, in, out, 8, (me + 1) % npes);
    shmemx_ct_wait(first, 1);
    shmem_barrier_all();
    CHECK(shmemx_ct_get(first) == 1 && shmemx_ct_get(second) == 0);
    shmemx_ct_free(&first);
    shmemx_ct_free(&second);
}

TEST(EXT_16_freed, "shmemx_ct_get ends the job and names ct when it is NULL", .aborts = 1, .says = "shmemx_ct_get|ct")
{
    shmemx_ct_get(NULL);
}
