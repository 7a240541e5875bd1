/* The frame of programs that are small cases: `PROGRAM CASE wrong`, `PROGRAM CASE right`, `PROGRAM list`. The case `all` is each of
   them, one after another. `PROGRAM CASE wrong PE`: this PE comes late to each. Where it is used, a case CASE races on its variable CASE_data, at lines that say so. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, npes, right;
static __thread volatile long sink; /* Threads read at the same time. */

struct race_case {
    const char *name;
    void (*run)(void);
};

#define CASE(name) {#name, name}

static inline int run_case(const struct race_case *cases, size_t count, int argc, char **argv)
{
    int provided, late = argc > 3 ? atoi(argv[3]) : -1;
    right = argc > 2 && strcmp(argv[2], "right") == 0;
    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < count; i++)
            puts(cases[i].name);
        return 0;
    }
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    for (size_t i = 0; i < count && argc > 1; i++) {
        int all = strcmp(argv[1], "all") == 0;
        if (me == late)
            usleep(5000);
        if (all || strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
        if (all)
            shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}

#define MAIN(cases)                                                                                                    \
    int main(int argc, char **argv) { return run_case(cases, sizeof cases / sizeof *cases, argc, argv); }
