/* The header: names, symbols behind macros, complex types; and the profiling control. */
#include <complex.h>
#include "check.h"
#include <dlfcn.h>
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <shmemx.h>

TEST(PRF_1_address, "twin and public name are one routine unless a tool comes between")
{
    static long x;
    shmem_barrier_all();
    pshmem_long_p(&x, 5, right_pe());
    pshmem_barrier_all();
    CHECK_EQ(pshmem_long_g(&x, right_pe()), 5);
    CHECK_EQ(pshmem_my_pe(), me);
    CHECK_EQ(pshmem_n_pes(), npes);
}

TEST(PRF_2, "pcontrol takes any level and further arguments")
{
    shmem_pcontrol(0);
    shmem_pcontrol(1, "text", 2.0);
    shmem_pcontrol(-7, NULL);
}

TEST(HDR_1, "shmemx.h, pshmem.h and the headers in mpp/ exist and go together")
{
    CHECK_EQ(SHMEM_MAJOR_VERSION, _SHMEM_MAJOR_VERSION);
    CHECK_EQ(SHMEM_MINOR_VERSION, _SHMEM_MINOR_VERSION);
    CHECK_EQ(SHMEM_MAX_NAME_LEN, _SHMEM_MAX_NAME_LEN);
    CHECK(strcmp(SHMEM_VENDOR_STRING, _SHMEM_VENDOR_STRING) == 0);
    const int now[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
    const int before[] = {_SHMEM_CMP_EQ, _SHMEM_CMP_NE, _SHMEM_CMP_GT, _SHMEM_CMP_GE, _SHMEM_CMP_LT, _SHMEM_CMP_LE};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(now[i], before[i]);
        for (int k = 0; k < i; k++)
            CHECK(now[i] != now[k]);
    }
    CHECK(SHMEM_SIGNAL_SET != SHMEM_SIGNAL_ADD);
}

/* File scope, so that the constants have to be constant expressions. */
static long barrier_words[SHMEM_BARRIER_SYNC_SIZE], reduce_words[SHMEM_REDUCE_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
static long all_words[SHMEM_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE
                      + SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static const long bits[] = {SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE};
static const shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};

TEST(HDR_1_constants, "constants work in array sizes, initialisers and case labels")
{
    for (int i = 0; i < 3; i++) {
        CHECK(bits[i] != 0 && (bits[i] & (bits[i] - 1)) == 0);
        for (int k = 0; k < i; k++)
            CHECK(bits[i] != bits[k] && teams[i] != teams[k]);
    }
    switch ((int)sizeof barrier_words) {
    case SHMEM_CMP_EQ + 1000000: CHECK(!"no such size"); break;
    default: break;
    }
    CHECK_EQ(reduce_words[0], SHMEM_SYNC_VALUE);
    CHECK(SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE);
    CHECK(sizeof all_words > sizeof(long));
}

TEST(HDR_2, "functions are real symbols even where a macro has the same name")
{
    static long x;
    void (*wait)(long *, int, long) = &shmem_wait_until;
    void (*add)(uint64_t *, uint64_t, int) = &shmem_signal_add;
    (shmem_wait_until)(&x, SHMEM_CMP_EQ, 0L);
    wait(&x, SHMEM_CMP_NE, 1);
    add((uint64_t *)&x, 3, me);
    shmem_quiet();
    CHECK_EQ(x, 3);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_wait_until") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_long_put") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "pshmem_long_put") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_signal_set") != NULL);
}

TEST(HDR_3, "programs may use complex numbers beside the header")
{
    static double _Complex x;
    double _Complex value = 1.0 + 2.0 * I;
    shmem_putmem(&x, &value, sizeof x, right_pe());
    shmem_barrier_all();
    CHECK(creal(x) == 1.0 && cimag(x) == 2.0);
}
