// The program that every launcher must start: a greeting, a ring and teams. PE 0 says what it found.
//
//   hello [abort | exit | wait]
//
// With a word, the last PE ends the job with status 42, or exits with status 3, or all wait after a line with their pid.
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long token, one = 1, members;

// The token goes round once; every PE adds its number and one.
static int ring(int me, int n) {
    if (me == 0) {
        shmem_long_p(&token, 1, 1 % n);
        shmem_long_wait_until(&token, SHMEM_CMP_GT, n > 1 ? 1 : 0);
        return token == (long) n * (n + 1) / 2;
    }
    shmem_long_wait_until(&token, SHMEM_CMP_GT, 0);
    shmem_long_p(&token, token + me + 1, (me + 1) % n);
    return 1;
}

// Every PE is in a row and in a column of a grid; rows and columns count their members.
static int teams(int n) {
    shmem_team_t row, column;
    int width = n > 2 ? 2 : 1, ok = 1;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column) != 0) return 0;
    shmem_team_t axes[] = {row, column};
    for (int axis = 0; axis < 2; axis++) {
        shmem_long_sum_reduce(axes[axis], &members, &one, 1);
        ok = ok && members == shmem_team_n_pes(axes[axis]);
        shmem_team_destroy(axes[axis]);
    }
    return ok;
}

// A signal that the PE keeps back is its own. A thread of the library or of the launcher's would end the PE by it.
static int keeps_signal(void) {
    sigset_t own;
    int taken = 0;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR2);
    sigprocmask(SIG_BLOCK, &own, NULL);
    kill(getpid(), SIGUSR2);
    sigwait(&own, &taken);
    return taken == SIGUSR2;
}

int main(int argc, char **argv) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), last = me == n - 1;
    const char *end = argc > 1 ? argv[1] : "";
    printf("PE %d of %d, %d on this node\n", me, n, shmem_team_n_pes(SHMEM_TEAM_SHARED));
    fflush(stdout);
    shmem_barrier_all();
    if (strcmp(end, "abort") == 0 && last) shmem_global_exit(42);
    if (strcmp(end, "exit") == 0 && last) _exit(3);
    if (strcmp(end, "wait") == 0) {
        printf("pid %d\n", (int) getpid());
        fflush(stdout);
    }
    if (*end) shmem_long_wait_until(&token, SHMEM_CMP_EQ, -1);
    int ring_closed = ring(me, n), teams_agree = teams(n);
    if (me == 0) printf("ring %s, teams %s\n", ring_closed ? "closed" : "BROKEN", teams_agree ? "agree" : "DISAGREE");
    int keeps = keeps_signal();
    shmem_finalize();
    return ring_closed && teams_agree && keeps ? 0 : 1;
}
