/* Each PE writes a word of its own to every PE by every kind of call, and reads them back: by the plain calls, on the default context, and
 * on contexts of teams. A word that comes to another PE, or to another place, shows. All of it in two lives. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16, WORDS = 10, SIGNALS = 3, READS = 4 };

static long statics[WORDS][MOST], sent[WORDS + SIGNALS][MOST], seen[READS];
static uint64_t signals[SIGNALS][MOST];
static int me, npes;
static long turn;

/* What one PE writes to another one by a kind of call: no two are equal, and none is 0. */
static long word(int from, int to, int kind)
{
    return ((turn * (WORDS + SIGNALS) + kind) * MOST + from) * MOST + to + 1;
}

static void compare(const char *what, int kind, int pe, long found, long expected)
{
    if (found == expected)
        return;
    printf("PE %d, turn %ld: %s %d of PE %d is %ld, not %ld\n", me, turn, what, kind, pe, found, expected);
    fflush(stdout);
    shmem_global_exit(3);
}

#define PLAIN(name, ...) shmem_##name(__VA_ARGS__)
#define ON(name, ...) shmem_ctx_##name(ctx, __VA_ARGS__)

/* The PE is `pe` for the calls, and `to` in the world. */
#define WRITE(CALL)                                                                                                    \
    for (int kind = 0; kind < WORDS + SIGNALS; kind++)                                                                 \
        sent[kind][to] = word(me, to, kind);                                                                           \
    CALL(long_p, &at[0][me], sent[0][to], pe);                                                                         \
    CALL(long_put, &at[1][me], &sent[1][to], 1, pe);                                                                   \
    CALL(long_put_nbi, &at[2][me], &sent[2][to], 1, pe);                                                               \
    CALL(long_atomic_set, &at[3][me], sent[3][to], pe);                                                                \
    CALL(long_atomic_add, &at[4][me], sent[4][to], pe);                                                                \
    compare("the old word", 5, to, CALL(long_atomic_fetch_add, &at[5][me], sent[5][to], pe), 0);                       \
    compare("the old word", 6, to, CALL(long_atomic_swap, &at[6][me], sent[6][to], pe), 0);                            \
    compare("the old word", 7, to, CALL(long_atomic_compare_swap, &at[7][me], 0, sent[7][to], pe), 0);                 \
    CALL(long_put_signal, &at[8][me], &sent[8][to], 1, &signals[0][me], sent[WORDS][to], SHMEM_SIGNAL_SET, pe);        \
    CALL(long_put_signal_nbi, &at[9][me], &sent[9][to], 1, &signals[1][me], sent[WORDS + 1][to], SHMEM_SIGNAL_ADD, pe); \
    CALL(signal_set, &signals[2][me], sent[WORDS + 2][to], pe);

#define READ(CALL)                                                                                                     \
    seen[0] = CALL(long_g, &at[0][me], pe);                                                                            \
    CALL(long_get, &seen[1], &at[1][me], 1, pe);                                                                       \
    CALL(long_get_nbi, &seen[2], &at[2][me], 1, pe);                                                                   \
    seen[3] = CALL(long_atomic_fetch, &at[3][me], pe);

static void write_plainly(long (*at)[MOST], int pe, int to)
{
    WRITE(PLAIN)
}

static void write_on(shmem_ctx_t ctx, long (*at)[MOST], int pe, int to)
{
    WRITE(ON)
}

static void read_plainly(long (*at)[MOST], int pe)
{
    READ(PLAIN)
    shmem_quiet();
}

static void read_on(shmem_ctx_t ctx, long (*at)[MOST], int pe)
{
    READ(ON)
    shmem_ctx_quiet(ctx);
}

/* The members of the team, which may be none, exchange words in memory that all PEs have. */
static void exchange(shmem_team_t team, shmem_ctx_t ctx, int plainly, long (*at)[MOST])
{
    int members = team == SHMEM_TEAM_INVALID ? 0 : shmem_team_n_pes(team);
    turn++;
    memset(at, 0, sizeof statics);
    memset(signals, 0, sizeof signals);
    shmem_barrier_all();
    for (int pe = 0; pe < members; pe++) {
        int to = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
        if (plainly)
            write_plainly(at, to, to);
        else
            write_on(ctx, at, pe, to);
    }
    if (members > 0)
        shmem_ctx_quiet(ctx);
    for (int pe = 0; pe < members; pe++) {
        int from = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
        for (int kind = 0; kind < SIGNALS; kind++)
            shmem_signal_wait_until(&signals[kind][from], SHMEM_CMP_EQ, (uint64_t)word(from, me, WORDS + kind));
    }
    shmem_barrier_all();
    for (int pe = 0; pe < members; pe++) {
        int other = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
        for (int kind = 0; kind < WORDS; kind++)
            compare("here, word", kind, other, at[kind][other], word(other, me, kind));
        if (plainly)
            read_plainly(at, other);
        else
            read_on(ctx, at, pe);
        for (int kind = 0; kind < READS; kind++)
            compare("there, word", kind, other, seen[kind], word(me, other, kind));
    }
    shmem_barrier_all();
}

/* What can be reached by pointers is on this node, and all that is. */
static void look_through_pointers(long *number)
{
    *number = me;
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) {
        const volatile long *there = shmem_ptr(number, pe);
        int is_here = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
        compare("a pointer to memory", 0, pe, there != NULL, is_here);
        if (there)
            compare("through a pointer, number", 0, pe, *there, pe);
    }
    shmem_barrier_all();
}

static void exchange_in_both(shmem_team_t team, int plainly, long (*heap)[MOST])
{
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    int is_own = team != SHMEM_TEAM_WORLD && team != SHMEM_TEAM_INVALID;
    if (is_own && shmem_team_create_ctx(team, 0, &ctx) != 0)
        shmem_global_exit(2);
    exchange(team, ctx, plainly, statics);
    exchange(team, ctx, plainly, heap);
    if (is_own)
        shmem_ctx_destroy(ctx);
}

int main(void)
{
    for (int life = 0; life < 2; life++) {
        shmem_init();
        me = shmem_my_pe(), npes = shmem_n_pes();
        if (npes > MOST)
            shmem_global_exit(2);
        long(*heap)[MOST] = shmem_malloc(sizeof statics), *number = shmem_malloc(sizeof *number);
        shmem_team_t seconds = SHMEM_TEAM_INVALID, powers = SHMEM_TEAM_INVALID;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &seconds);
        shmemx_team_split_color(SHMEM_TEAM_WORLD, (me & (me - 1)) == 0, me, &powers);
        look_through_pointers(number);
        exchange_in_both(SHMEM_TEAM_WORLD, 1, heap);
        exchange_in_both(SHMEM_TEAM_WORLD, 0, heap);
        exchange_in_both(SHMEM_TEAM_SHARED, 0, heap);
        exchange_in_both(seconds, 0, heap);
        exchange_in_both(powers, 0, heap);
        shmem_free(number);
        shmem_free(heap);
        printf("all right\n");
        shmem_finalize();
    }
    return 0;
}
