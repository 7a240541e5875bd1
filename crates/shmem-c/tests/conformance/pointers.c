/* Direct pointers and reachability. */
#include "places.h"
#include <dlfcn.h>
#include <limits.h>

TEST(PTR_1_own, "shmem_ptr for the own PE is the object itself")
{
    open_places();
    FOR_EACH_PLACE(place) {
        CHECK_EQ(shmem_ptr(place->bytes, me), place->bytes);
        CHECK_EQ(shmem_ptr(place->bytes + 77, me), place->bytes + 77);
    }
}

TEST(PTR_1_peer, "loads and stores through shmem_ptr reach the peer's object", .one_node = 1)
{
    open_places();
    FOR_EACH_PLACE(place)
        for (int pe = 0; pe < npes; pe++) {
            check_place = place->name;
            place->bytes[me] = (unsigned char)(100 + me);
            shmem_barrier_all();
            unsigned char *there = shmem_ptr(place->bytes, pe);
            if (there) {
                CHECK_EQ(there[pe], 100 + pe);
                there[64 + me] = (unsigned char)(200 - me);
            } else
                shmem_uchar_p(place->bytes + 64 + me, (unsigned char)(200 - me), pe);
            shmem_barrier_all();
            for (int from = 0; me == pe && from < npes; from++)
                CHECK_EQ(place->bytes[64 + from], 200 - from);
            shmem_barrier_all();
        }
}

TEST(PTR_1_null, "shmem_ptr is NULL for what is not symmetric and for PEs that do not exist", .also = "SYM-2")
{
    static int variable;
    int on_stack = 0;
    CHECK(shmem_ptr(&on_stack, npes - 1) == NULL || npes == 1);
    CHECK(shmem_ptr(&variable, npes) == NULL);
    CHECK(shmem_ptr(&variable, -1) == NULL);
}

/* All PEs of one node can reach one another's heap, so whatever is given for one heap object is given for all, and in
 * both directions. */
TEST(PTR_2, "heap objects of a PE are reachable all or none, and in both directions")
{
    static int reached[64];
    void *blocks[20];
    for (int i = 0; i < 20; i++)
        blocks[i] = shmem_malloc((size_t)1 << i);
    for (int pe = 0; pe < npes; pe++) {
        int count = 0;
        for (int i = 0; i < 20; i++)
            count += shmem_ptr(blocks[i], pe) != NULL;
        CHECK(count == 0 || count == 20);
        shmem_int_p(&reached[me], count, pe);
        shmem_quiet();
    }
    CHECK(shmem_ptr(blocks[0], me) == blocks[0]);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        CHECK_EQ(reached[pe], shmem_ptr(blocks[0], pe) ? 20 : 0);
}

TEST(PTR_4, "shmem_team_ptr on the world is shmem_ptr, on SHMEM_TEAM_INVALID NULL")
{
    open_places();
    FOR_EACH_PLACE(place) {
        for (int pe = 0; pe < npes; pe++)
            CHECK_EQ(shmem_team_ptr(SHMEM_TEAM_WORLD, place->bytes, pe), shmem_ptr(place->bytes, pe));
        CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, place->bytes, 0) == NULL);
    }
}

TEST(PTR_5_pe, "pe_accessible is exactly 1 for the PEs of the job and 0 for other numbers")
{
    for (int pe = 0; pe < npes; pe++)
        CHECK_EQ(shmem_pe_accessible(pe), 1);
    const int none[] = {-1, npes, npes + 1, INT_MAX, INT_MIN};
    for (int i = 0; i < 5; i++)
        CHECK_EQ(shmem_pe_accessible(none[i]), 0);
}

TEST(PTR_5_address, "addr_accessible is 1 for heap and static objects and 0 for everything else", .also = "SYM-2 SYM-1")
{
    static _Thread_local int in_thread;
    int on_stack = 0, *by_malloc = calloc(1, sizeof *by_malloc);
    void *mathematics = dlopen("libm.so.6", RTLD_NOW);
    void *in_library = mathematics ? dlsym(mathematics, "signgam") : NULL;
    open_places();
    for (int pe = 0; pe < npes; pe++) {
        FOR_EACH_PLACE(place) {
            CHECK_EQ(shmem_addr_accessible(place->bytes, pe), 1);
            CHECK_EQ(shmem_addr_accessible(place->bytes + ROOM - 1, pe), 1);
        }
        CHECK_EQ(shmem_addr_accessible(&on_stack, pe), 0);
        CHECK_EQ(shmem_addr_accessible(by_malloc, pe), 0);
        CHECK_EQ(shmem_addr_accessible(&in_thread, pe), 0);
        CHECK_EQ(shmem_addr_accessible(in_library, pe), 0);
        CHECK_EQ(shmem_addr_accessible(NULL, pe), 0);
    }
    CHECK_EQ(shmem_addr_accessible(places[0].bytes, npes), 0);
    CHECK_EQ(shmem_addr_accessible(places[1].bytes, -1), 0);
    free(by_malloc);
}
