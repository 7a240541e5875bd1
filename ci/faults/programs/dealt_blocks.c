/* Gathers, all-to-alls and prefix sums of teams whose members hosts get in any numbers and any order: each byte says which PE has brought
 * it for which one, each sum has the bits of one order, and the sizes lie on both sides of those at which the library changes its way. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 100000, MOST = 8, DST = 2, SST = 3 };

static const size_t lengths[] = {1, 8, 40, 64, 333, 1024, 4096, 20000, LONGEST};
static uint8_t *source, *dest;
static int me;

/* The byte at this place of the block of one member for another one. */
static uint8_t brought(int from, int to, size_t at, unsigned call)
{
    return (uint8_t)(from * 37 + to * 101 + at * 7 + at / 251 + call * 13 + 1);
}

static void compare(const char *what, size_t length, int from, size_t at, uint8_t found, uint8_t expected)
{
    if (found == expected)
        return;
    printf("PE %d: %s of %zu bytes: byte %zu from member %d is %d, not %d\n", me, what, length, at, from, found, expected);
    fflush(stdout);
    shmem_global_exit(3);
}

/* Some bring nothing, and no two that follow each other bring as much. */
static size_t own_share(int member, size_t length)
{
    return member % 3 == 1 ? 0 : length * (size_t)(1 + member % 4) / 4;
}

static void gather(shmem_team_t team, size_t length, unsigned call, int unequal)
{
    int my = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    size_t mine = unequal ? own_share(my, length) : length, begin = 0;
    for (size_t i = 0; i < mine; i++)
        source[i] = brought(my, 0, i, call);
    for (size_t i = 0; i < length * (size_t)size; i++)
        dest[i] = 0;
    shmem_team_sync(team);
    if (unequal)
        shmem_uint8_collect(team, dest, source, mine);
    else
        shmem_uint8_fcollect(team, dest, source, mine);
    for (int from = 0; from < size; from++) {
        size_t theirs = unequal ? own_share(from, length) : length;
        for (size_t i = 0; i < theirs; i++)
            compare(unequal ? "collect" : "fcollect", length, from, i, dest[begin + i], brought(from, 0, i, call));
        begin += theirs;
    }
}

static void scatter(shmem_team_t team, size_t length, unsigned call, size_t dst, size_t sst)
{
    int my = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    for (int to = 0; to < size; to++)
        for (size_t i = 0; i < length; i++)
            source[((size_t)to * length + i) * sst] = brought(my, to, i, call);
    for (size_t i = 0; i < length * (size_t)size * dst; i++)
        dest[i] = 0;
    shmem_team_sync(team);
    if (dst == 1 && sst == 1)
        shmem_uint8_alltoall(team, dest, source, length);
    else
        shmem_uint8_alltoalls(team, dest, source, (ptrdiff_t)dst, (ptrdiff_t)sst, length);
    for (int from = 0; from < size; from++)
        for (size_t i = 0; i < length * dst; i++) {
            uint8_t expected = i % dst == 0 ? brought(from, my, i / dst, call) : 0;
            compare(dst == 1 ? "alltoall" : "alltoalls", length, from, i, dest[(size_t)from * length * dst + i], expected);
        }
}

/* The number at this place of a member. Those of neighbours differ by up to 2^40, so another order of the operands rounds differently. */
static double term(int member, size_t at, unsigned call)
{
    const size_t other = (size_t)member;
    return (double)(UINT64_C(1) << (at * 13 + other * 29 + call) % 41) / (double)(3 + 7 * at + 11 * other);
}

/* Each sum has the bits of a fold of the members up to this one, in the order of the team. */
static void add_up(shmem_team_t team, size_t count, unsigned call, int inclusive)
{
    const int my = shmem_team_my_pe(team);
    double *terms = (void *)source, *sums = (void *)dest;
    for (size_t i = 0; i < count; i++)
        terms[i] = term(my, i, call);
    memset(sums, 0xff, count * sizeof *sums);
    shmem_team_sync(team);
    if (inclusive)
        shmem_double_sum_inscan(team, sums, terms, count);
    else
        shmem_double_sum_exscan(team, sums, terms, count);
    for (size_t i = 0; i < count; i++) {
        double expected = 0;
        for (int from = 0; from < my + inclusive; from++)
            expected += term(from, i, call);
        if (memcmp(&sums[i], &expected, sizeof expected) == 0)
            continue;
        printf("PE %d: %s of %zu numbers: sum %zu is %a, not %a\n", me, inclusive ? "inscan" : "exscan", count, i, sums[i], expected);
        fflush(stdout);
        shmem_global_exit(3);
    }
}

static void all_calls(shmem_team_t team)
{
    unsigned call = 0;
    if (team == SHMEM_TEAM_INVALID)
        return;
    for (size_t number = 0; number < sizeof lengths / sizeof *lengths; number++)
        /* More often than the library has buffers for, which the longest blocks do not fit. */
        for (int round = 0; round < (lengths[number] < LONGEST ? 3 : 1); round++) {
            gather(team, lengths[number], call++, 0);
            gather(team, lengths[number], call++, 1);
            scatter(team, lengths[number], call++, 1, 1);
            scatter(team, lengths[number], call++, DST, SST);
            add_up(team, lengths[number], call++, 0);
            add_up(team, lengths[number], call++, 1);
        }
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    const int npes = shmem_n_pes();
    if (npes > MOST)
        shmem_global_exit(2);
    source = shmem_malloc((size_t)LONGEST * MOST * SST);
    dest = shmem_malloc((size_t)LONGEST * MOST * DST);
    shmem_team_t backwards = SHMEM_TEAM_INVALID, but_one = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &backwards);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes - 1, NULL, 0, &but_one);
    all_calls(SHMEM_TEAM_WORLD);
    all_calls(backwards);
    all_calls(but_one);
    shmem_barrier_all();
    shmem_free(dest);
    shmem_free(source);
    printf("all right\n");
    shmem_finalize();
    return 0;
}
