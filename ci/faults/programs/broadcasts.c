/* broadcasts stay|turns|change|groups [TURNS]: broadcasts without pause, from a root that stays, from roots that take turns, or from a
 * root that stays after another one has had three calls, each with a destination of its own, by the world's team and by its active
 * set. `groups` are of 8 calls by the active set, with 8 work arrays; between two groups all PEs meet, in a barrier, in a sync or in a
 * reduction, before which some of them have a barrier of their own. A root writes its source again when its call is over. Every PE
 * compares every word. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 400, MOST = 4000, GROUP = 8 };

static long psyncs[CALLS][SHMEM_BCAST_SYNC_SIZE], of_some[SHMEM_BARRIER_SYNC_SIZE];

static uint64_t word(size_t turn, size_t call, size_t at)
{
    return (uint64_t)turn << 48 | (uint64_t)call << 32 | at;
}

/* The end of group `number`. */
static void meet(size_t number)
{
    static long zero, sum;
    if (number % 4 == 0)
        shmem_barrier_all();
    else if (number % 4 == 1)
        shmem_sync_all();
    else {
        if (number % 4 == 2 && shmem_my_pe() > 0)
            shmem_barrier(1, 0, shmem_n_pes() - 1, of_some);
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &zero, 1);
    }
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {1, 125, 1000, 4000};
    static long wrong, all;
    const int stays = argc > 1 && strcmp(argv[1], "stay") == 0;
    const int changes = argc > 1 && strcmp(argv[1], "change") == 0;
    const int groups = argc > 1 && strcmp(argv[1], "groups") == 0;
    const size_t turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    if (!stays && !changes && !groups && (argc < 2 || strcmp(argv[1], "turns") != 0)) {
        fprintf(stderr, "broadcasts stay|turns|change|groups [TURNS]\n");
        return 2;
    }
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes();
    uint64_t *source = shmem_malloc(8UL * MOST), *dests = shmem_malloc(8UL * MOST * CALLS);
    if (!source || !dests)
        shmem_global_exit(2);
    for (size_t call = 0; call < CALLS; call++)
        for (size_t i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
            psyncs[call][i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        of_some[i] = SHMEM_SYNC_VALUE;
    for (size_t turn = 0; turn < turns; turn++) {
        shmem_barrier_all(); /* every destination and every pSync is ready again */
        for (size_t call = 0; call < CALLS; call++) {
            const size_t early = changes && call < 3;
            const int root = (int)((stays || changes ? turn + early : turn + call / (1 + turn % 3)) % (size_t)npes);
            const size_t words = lengths[call / 3 % 4];
            uint64_t *dest = dests + call * MOST;
            if (me == root)
                for (size_t at = 0; at < words; at++)
                    source[at] = word(turn, call, at);
            else if (call % 7 == 0 && call / 7 % (size_t)npes == (size_t)me)
                usleep(300);
            if (groups && call % GROUP == 0)
                meet(call / GROUP);
            if (groups || turn % 2)
                shmem_broadcast64(dest, source, words, root, 0, 0, npes, psyncs[groups ? call % GROUP : call]);
            else
                shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, words, root);
            for (size_t at = 0; at < words && !((groups || turn % 2) && me == root); at++)
                if (dest[at] != word(turn, call, at)) {
                    if (wrong++ == 0)
                        printf("PE %d: broadcast %zu of turn %zu (root %d, %zu words) has at %zu what broadcast %zu of turn %zu sent\n", me,
                            call, turn, root, words, at, (size_t)(dest[at] >> 32 & 0xffff), (size_t)(dest[at] >> 48));
                    break;
                }
        }
    }
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &wrong, 1);
    if (me == 0)
        printf("%ld of %zu broadcasts were wrong somewhere\n", all, turns * CALLS * (size_t)npes);
    shmem_finalize();
    return all != 0;
}
