/* Each PE adds to the next one all the time, while PE 0 has all PEs stopped for some seconds, or the last one for ever. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };
static long pids[MOST], count;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const int all = argc > 1 && strcmp(argv[1], "all") == 0, length = argc > 2 ? atoi(argv[2]) : 1;
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int pe = 0; pe < pes; pe++)
        shmem_long_p(&pids[me], getpid(), pe);
    shmem_barrier_all();
    if (me == 0) {
        char list[MOST * 12] = "", command[3 * sizeof list];
        for (int pe = all ? 0 : pes - 1; pe < pes; pe++)
            snprintf(list + strlen(list), sizeof list - strlen(list), " %ld", pids[pe]);
        const char *stop = "(sleep 0.2; kill -STOP%s; %s sleep %d; kill -CONT%s) </dev/null >/dev/null 2>&1 &";
        snprintf(command, sizeof command, stop, list, all ? "" : "exit;", length, list);
        if (system(command) != 0)
            return 1;
    }
    for (const double begin = seconds(); seconds() < begin + length + 2;) {
        shmem_long_inc(&count, (me + 1) % pes);
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 0)
        printf("all went on\n");
    shmem_finalize();
    return 0;
}
