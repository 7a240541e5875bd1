/* Every PE makes known calls, for tests of profiles: to the next PE 10 p, 3 puts of 1000 bytes and 1 by a context of the even or
 * odd PEs; from the one before 2 gets of 500 bytes; 5 atomics on PE 0; 4 barriers; a sum of 6 doubles on a team. PE 1 waits for a
 * word of PE 0. With an argument, PE 1 ends by SIGKILL before it finalizes. */
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static long counter, word;
static char target[1000];
static double sums[6], parts[6];

int main(int argc, char **argv) {
    (void)argv;
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes(), next = (me + 1) % pes, before = (me + pes - 1) % pes;
    long *numbers = shmem_malloc(10 * sizeof *numbers);
    char buffer[1000] = {0};
    for (int i = 0; i < 10; i++) {
        shmem_long_p(&numbers[i], me, next);
    }
    for (int i = 0; i < 3; i++) {
        shmem_putmem(target, buffer, sizeof buffer, next);
    }
    for (int i = 0; i < 2; i++) {
        shmem_getmem(buffer, target, 500, before);
    }
    for (int i = 0; i < 5; i++) {
        shmem_long_atomic_inc(&counter, 0);
    }
    if (argc > 1 && me == 1) {
        raise(SIGKILL);
    }
    shmem_barrier_all();
    if (me == 0) {
        usleep(50000);
        shmem_long_p(&word, 1, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    }
    shmem_barrier_all();
    shmem_team_t pair, half; /* the columns of two: even and odd PEs */
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &pair, NULL, 0, &half);
    shmem_double_sum_reduce(half, sums, parts, 6);
    shmem_ctx_t context;
    if (shmem_team_create_ctx(half, 0, &context) == 0) {
        const int mine = shmem_team_my_pe(half), all = shmem_team_n_pes(half);
        shmem_ctx_putmem(context, target, buffer, 100, (mine + 1) % all);
        shmem_ctx_quiet(context);
        shmem_ctx_destroy(context);
    }
    shmem_team_destroy(half);
    shmem_barrier_all();
    shmem_barrier_all();
    shmem_free(numbers);
    shmem_finalize();
    return 0;
}
