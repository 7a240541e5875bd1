/* random SEED [STEPS]: the same seed, number of PEs and steps are the same operations. */
#include "random.h"

int me, npes, step;
uint64_t seed;
char about[160];

static void one_step(void)
{
    wait_for_some();
    switch (below(22)) {
    case 0: case 1: case 2: case 3: case 4: movement(); break;
    case 5: case 6: case 7: case 8: reduction(); break;
    case 9: case 10: stream_of_broadcasts(); break;
    case 11: case 12: case 13: transfers(); break;
    case 14: case 15: signals(); break;
    case 16: case 17: atomics(); break;
    case 18: meet(); break;
    case 19: one_in(2) ? lock_steps() : change_contexts(); break;
    case 20: change_teams(); break;
    default: one_in(3) ? phase() : one_in(2) ? allocation() : meet(); break;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "random SEED [STEPS]\n");
        return 2;
    }
    seed = strtoull(argv[1], NULL, 0);
    const int steps = argc > 2 ? atoi(argv[2]) : 150;
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (npes > MOST_PES) {
        if (me == 0)
            fprintf(stderr, "random: at most %d PEs\n", MOST_PES);
        shmem_global_exit(2);
    }
    groups_open();
    contexts_open();
    pool_open();
    for (step = 0; step < steps; step++)
        one_step();
    phase();
    if (me == 0)
        printf("seed %llu: all right after %d steps on %d PEs\n", (unsigned long long)seed, steps, npes);
    shmem_finalize();
    return 0;
}
