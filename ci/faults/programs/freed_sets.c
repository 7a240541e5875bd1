/* A pSync array for each phase of the program, freed behind it, at another address each time. Prints how many teams there may be then.
 * freed_sets [PHASES [MOST_TEAMS]] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE };

static long mine, sum, sent[2], got[2];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void check(long value, long expected, int phase)
{
    if (value == expected) return;
    printf("PE %d: %ld in phase %d, not %ld\n", shmem_my_pe(), value, phase, expected);
    shmem_global_exit(3);
}

int main(int argc, char **argv)
{
    const int phases = argc > 1 ? atoi(argv[1]) : 4, most_teams = argc > 2 ? atoi(argv[2]) : 3;
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int phase = 0; phase < phases; phase++) {
        long *other = shmem_malloc(64 * (size_t)(phase + 1));
        long *sync = shmem_malloc(WORDS * sizeof(long));
        for (int i = 0; i < WORDS; i++) sync[i] = SHMEM_SYNC_VALUE;
        shmem_barrier_all();
        for (int call = 0; call < 3; call++) {
            mine = me + phase + call;
            shmem_long_sum_to_all(&sum, &mine, 1, 0, 0, pes, work, sync);
            check(sum, (long)pes * (phase + call) + (long)pes * (pes - 1) / 2, phase);
            sent[0] = sent[1] = 1000L * phase + call;
            const int root = (phase + call) % pes;
            shmem_broadcast64(got, sent, 2, root, 0, 0, pes, sync + SHMEM_REDUCE_SYNC_SIZE);
            if (me != root) check(got[1], sent[1], phase);
        }
        /* Every other array moves first: its sets go with the old place. */
        if (phase % 2) {
            sync = shmem_realloc(sync, 4096 * (size_t)(phase + 1));
            mine = me;
            shmem_long_sum_to_all(&sum, &mine, 1, 0, 0, pes, work, sync);
            check(sum, (long)pes * (pes - 1) / 2, phase);
        }
        /* Other PEs may still be in the last call of the sets: shmem_free waits for them. */
        shmem_free(sync);
        shmem_free(other);
    }
    int teams = 0;
    shmem_team_t team;
    while (teams < most_teams && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team) == 0) teams++;
    if (me == 0) printf("teams: %d\n", teams);
    shmem_finalize();
    return 0;
}
