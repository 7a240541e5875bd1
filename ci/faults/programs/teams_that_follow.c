/* Teams that get what others have left: numbers of synchronisations, and memory between nodes. Every word of each broadcast and
 * maximum is compared: teams_that_follow [ROUNDS]. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1000, CALLS = 8 };

static long source[MOST], dest[CALLS][MOST];
static int me, npes;
static long calls;

static shmem_team_t split(void)
{
    shmem_team_t team;
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) != 0)
        shmem_global_exit(3);
    return team;
}

static void compare(const char *what, size_t n, const long *seen, long first)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i] != first + (long)i) {
            printf("PE %d: %s %ld of %zu words: word %zu is %ld, not %ld\n", me, what, calls, n, i, seen[i], first + (long)i);
            fflush(stdout);
            shmem_global_exit(1);
        }
}

/* Broadcasts from one root, which runs ahead, then a maximum. */
static void use(shmem_team_t team, int root)
{
    static const size_t lengths[CALLS] = {20, 100, 1000, 20, 500, 20, 1000, 100};
    for (int call = 0; call < CALLS; call++) {
        const size_t n = lengths[call];
        calls++;
        if (me == root)
            for (size_t i = 0; i < n; i++)
                source[i] = 10000 * calls + (long)i;
        shmem_long_broadcast(team, dest[call], source, n, root);
        compare("broadcast", n, dest[call], 10000 * calls);
    }
    calls++;
    for (size_t i = 0; i < 100; i++)
        source[i] = 10000 * calls + (long)i - me;
    shmem_long_max_reduce(team, dest[0], source, 100);
    compare("maximum", 100, dest[0], 10000 * calls);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    shmem_init();
    me = shmem_my_pe(), npes = shmem_n_pes();
    for (int round = 0; round < rounds; round++) {
        /* The second team has a number of its own, and the memory of the first one. */
        shmem_team_t first = split(), second = split();
        use(first, round % npes);
        shmem_team_destroy(first);
        use(second, (round + 1) % npes);
        /* The third one has the number of the second. */
        shmem_team_destroy(second);
        shmem_team_t third = split();
        use(third, round % npes);
        shmem_team_destroy(third);
    }
    shmem_finalize();
}
