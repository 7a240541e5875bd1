/* Team broadcasts. */
#include "movement.h"

enum { ELEMENTS = 7 };

/* Every member once as root; all members, the root included, find the root's elements and nothing behind them. */
static void broadcast_from_everyone(const struct team *team, const struct movement *move, const struct buffers *on)
{
    static unsigned char want[BUFFER_BYTES];
    size_t bytes = ELEMENTS * move->size, guarded = bytes + 64;
    for (int root = 0; root < team->members.size; root++) {
        contribute(on->source, bytes);
        memset(on->dest, GUARD, guarded);
        memset(want, GUARD, guarded);
        for (size_t at = 0; at < bytes; at++) want[at] = contributed(team->members.world[root], at);
        CHECK_EQ(shmem_team_sync(team->handle), 0);
        CHECK_EQ(move->broadcast(team->handle, on->dest, on->source, ELEMENTS, root), 0);
        memset(on->source, 0, bytes); /* ours again at once */
        CHECK(same_bytes(move->name, on->dest, want, guarded));
        CHECK_EQ(shmem_team_sync(team->handle), 0);
    }
}

TEST(BC_1, "broadcast of every type from every root to every member, the root included; root is a team number",
     .also = "COL-1 COL-7 COL-9")
{
    for_every_form(broadcast_from_everyone);
}

TEST(BC_1_in_place, "dest equal to source: the others get the root's elements, the root keeps them", .also = "SYM-10")
{
    static long data[ELEMENTS];
    struct team teams[SHAPES];
    make_teams(teams);
    FOR_EACH_TEAM_OF_MINE(team, teams)
        for (int root = 0; root < team->members.size; root++) {
            for (int i = 0; i < ELEMENTS; i++) data[i] = 1000 * me + i;
            CHECK_EQ(shmem_team_sync(team->handle), 0);
            CHECK_EQ(shmem_long_broadcast(team->handle, data, data, ELEMENTS, root), 0);
            for (int i = 0; i < ELEMENTS; i++) CHECK_EQ(data[i], 1000 * team->members.world[root] + i);
            CHECK_EQ(shmem_team_sync(team->handle), 0);
        }
    destroy_teams(teams);
}

TEST(BC_1_lengths, "lengths around every power of two up to some MiB, also odd ones from odd addresses")
{
    enum { MOST = (4 << 20) + 3 };
    unsigned char *source = shmem_malloc(MOST + 1), *dest = shmem_malloc(MOST + 65);
    REQUIRE(source != NULL && dest != NULL);
    for (size_t power = 1; power <= 4 << 20; power *= 2)
        for (int off = -1; off <= 1; off++) {
            size_t bytes = power + (size_t)off;
            int root = (int)(bytes % (size_t)npes);
            for (size_t at = 0; at < bytes; at++) source[at + 1] = (unsigned char)((at * 7 >> 3) + at + (size_t)me * 31);
            memset(dest, GUARD, bytes + 65);
            shmem_barrier_all();
            CHECK_EQ(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest + 1, source + 1, bytes, root), 0);
            size_t wrong = 0;
            for (size_t at = 0; at < bytes; at++)
                wrong += dest[at + 1] != (unsigned char)((at * 7 >> 3) + at + (size_t)root * 31);
            for (size_t at = 0; at < 64; at++) wrong += dest[bytes + 1 + at] != GUARD;
            CHECK_EQ(wrong, 0);
            CHECK_EQ(dest[0], GUARD);
            shmem_barrier_all();
        }
    shmem_free(dest);
    shmem_free(source);
}
