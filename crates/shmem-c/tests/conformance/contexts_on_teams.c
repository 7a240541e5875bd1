/* Contexts made from a team. */
#include "contexts.h"

TEST(CTX_2_world, "a context made from the world team uses world numbers")
{
    shmem_ctx_t context;
    REQUIRE(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &context) == 0);
    check_works(context, 100);
    shmem_ctx_destroy(context);
}

TEST(CTX_2_invalid, "team_create_ctx on SHMEM_TEAM_INVALID gives nonzero and SHMEM_CTX_INVALID")
{
    shmem_ctx_t context = SHMEM_CTX_DEFAULT;
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context) != 0);
    CHECK(context == SHMEM_CTX_INVALID);
}

TEST(CTX_3, "contexts on the world can be created without having been requested")
{
    shmem_ctx_t contexts[8];
    for (int i = 0; i < 8; i++)
        REQUIRE(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &contexts[i]) == 0);
    for (int i = 0; i < 8; i++)
        check_works(contexts[i], i);
}

TEST(CTX_7_team, "ctx_get_team tells the team a team context was made from")
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t context;
    REQUIRE(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &context) == 0);
    CHECK_EQ(shmem_ctx_get_team(context, &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
}
