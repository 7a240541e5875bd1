/* The memory that a PE takes: its private pages, and its share of the pages that several PEs use. */
#include "bench.h"

#include <stdio.h>

static double taken;

static double proportional_set(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %lf", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static void report(const char *form)
{
    shmem_barrier_all();
    taken = proportional_set();
    shmem_barrier_all();
    if (me == 0 && taken > 0) {
        printf("{\"pattern\":\"memory per PE\",\"form\":\"%s\",\"bytes\":0,\"batch\":1,\"clock\":0,\"operations\":1,\"samples\":[", form);
        for (int pe = 0; pe < npes; pe++)
            printf("%s%.0f", pe ? "," : "", shmem_double_g(&taken, pe));
        printf("],\"singles\":[]}\n");
        fflush(stdout);
    }
    shmem_barrier_all();
}

void usage(void)
{
    if (!wanted("memory per PE"))
        return;
    report("after init");
    for (int pe = 0; pe < npes; pe++)
        shmem_double_p(&taken, 0, pe);
    report("after a put to every PE");
}
