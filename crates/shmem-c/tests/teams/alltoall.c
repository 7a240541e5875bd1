/* Team all-to-alls: block l of member k goes to block k of member l. */
#include "movement.h"

enum { ELEMENTS = 3 };

static void check_alltoall(const struct team *team, const struct movement *move, const struct buffers *on)
{
    static unsigned char want[BUFFER_BYTES];
    int n = team->members.size, mine = shmem_team_my_pe(team->handle);
    size_t block = ELEMENTS * move->size, bytes = (size_t)n * block;
    for (int k = 0; k < n; k++)
        for (size_t at = 0; at < block; at++)
            want[(size_t)k * block + at] = contributed(team->members.world[k], (size_t)mine * block + at);
    memset(want + bytes, GUARD, 64);
    memset(on->dest, GUARD, bytes + 64);
    contribute(on->source, bytes);
    CHECK_EQ(shmem_team_sync(team->handle), 0);
    CHECK_EQ(move->alltoall(team->handle, on->dest, on->source, ELEMENTS), 0);
    memset(on->source, 0, bytes);
    CHECK(same_bytes(move->name, on->dest, want, bytes + 64));
    CHECK_EQ(shmem_team_sync(team->handle), 0);
}

/* Element e of block b lies at (b * ELEMENTS + e) * stride; everything between stays as it was. */
static void check_alltoalls(const struct team *team, const struct movement *move, const struct buffers *on)
{
    static const ptrdiff_t strides[][2] = {{1, 1}, {2, 1}, {1, 3}, {3, 2}};
    static unsigned char want[BUFFER_BYTES];
    size_t n = (size_t)team->members.size, mine = (size_t)shmem_team_my_pe(team->handle), size = move->size;
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        size_t dst = (size_t)strides[s][0], sst = (size_t)strides[s][1], bytes = n * ELEMENTS * dst * size + 64;
        memset(want, GUARD, bytes);
        for (size_t k = 0; k < n; k++)
            for (size_t e = 0; e < ELEMENTS; e++)
                for (size_t at = 0; at < size; at++)
                    want[(k * ELEMENTS + e) * dst * size + at] = contributed(team->members.world[k], (mine * ELEMENTS + e) * sst * size + at);
        memset(on->dest, GUARD, bytes);
        contribute(on->source, n * ELEMENTS * sst * size);
        CHECK_EQ(shmem_team_sync(team->handle), 0);
        CHECK_EQ(move->alltoalls(team->handle, on->dest, on->source, strides[s][0], strides[s][1], ELEMENTS), 0);
        memset(on->source, 0, n * ELEMENTS * sst * size);
        CHECK(same_bytes(move->name, on->dest, want, bytes));
        CHECK_EQ(shmem_team_sync(team->handle), 0);
    }
}

TEST(AA_1, "alltoall of every type", .also = "COL-1 COL-7 COL-9") { for_every_form(check_alltoall); }

TEST(AA_2, "alltoalls of every type with strides per element; gaps in dest stay untouched") { for_every_form(check_alltoalls); }

TEST(AA_1_large, "blocks larger than any internal buffer")
{
    enum { LONGS = 150 * 1000 };
    size_t n = (size_t)npes;
    long *source = shmem_malloc(n * LONGS * sizeof *source), *dest = shmem_malloc(n * LONGS * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    for (size_t l = 0; l < n; l++)
        for (size_t i = 0; i < LONGS; i++) source[l * LONGS + i] = (long)((i * n + l) * n + (size_t)me);
    CHECK_EQ(shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, LONGS), 0);
    size_t wrong = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < LONGS; i++) wrong += dest[k * LONGS + i] != (long)((i * n + (size_t)me) * n + k);
    CHECK_EQ(wrong, 0);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

TEST(AA_1_lengths, "blocks around the room of internal buffers, one call after the other")
{
    static const size_t lengths[] = {3001, 7001, 8192, 13007, 16400, 29003, 32768, 61001, 90001};
    enum { LONGEST = 90001, CALLS = 3 };
    size_t n = (size_t)npes;
    unsigned char *source = shmem_malloc(n * LONGEST), *dest = shmem_malloc(n * LONGEST);
    REQUIRE(source != NULL && dest != NULL);
    for (size_t s = 0; s < sizeof lengths / sizeof *lengths; s++)
        for (size_t call = 0; call < CALLS; call++) {
            size_t bytes = lengths[s], wrong = 0;
            for (size_t l = 0; l < n; l++)
                for (size_t i = 0; i < bytes; i++) source[l * bytes + i] = (unsigned char)((i * 7 + call) ^ (l * n + (size_t)me));
            shmem_sync_all();
            CHECK_EQ(shmem_uchar_alltoall(SHMEM_TEAM_WORLD, dest, source, bytes), 0);
            memset(source, 0, n * bytes);
            for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < bytes; i++)
                    wrong += dest[k * bytes + i] != (unsigned char)((i * 7 + call) ^ ((size_t)me * n + k));
            CHECK_EQ(wrong, 0);
        }
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}

TEST(AA_2_large, "strided blocks of two PEs that reach over more memory than any internal buffer has")
{
    enum { LONGS = 16400, APART = 128 };
    size_t n = npes > 1 ? 2 : 1;
    long *source = shmem_malloc(n * LONGS * APART * sizeof *source), *dest = shmem_malloc(n * LONGS * sizeof *dest);
    REQUIRE(source != NULL && dest != NULL);
    shmem_team_t ends;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, npes > 1 ? npes - 1 : 1, (int)n, NULL, 0, &ends), 0);
    if (ends != SHMEM_TEAM_INVALID) {
        size_t mine = (size_t)shmem_team_my_pe(ends), wrong = 0;
        for (size_t i = 0; i < n * LONGS; i++) source[i * APART] = (long)(i * n + mine);
        CHECK_EQ(shmem_long_alltoalls(ends, dest, source, 1, APART, LONGS), 0);
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < LONGS; i++) wrong += dest[k * LONGS + i] != (long)((mine * LONGS + i) * n + k);
        CHECK_EQ(wrong, 0);
        shmem_team_destroy(ends);
    }
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
}
