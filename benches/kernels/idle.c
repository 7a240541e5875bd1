/* The empty program. With an argument it says how much memory an idle PE holds: all resident pages, and the same with
 * each shared page divided among the processes that share it. */
#include <shmem.h>
#include <stdio.h>

static void print_memory(int pe)
{
    char line[256];
    long kib, resident = 0, share = 0;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup)) {
        if (sscanf(line, "Rss: %ld", &kib) == 1)
            resident = kib << 10;
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            share = kib << 10;
    }
    if (rollup)
        fclose(rollup);
    printf("{\"row\":\"resident memory\",\"side\":\"ours\",\"pe\":%d,\"values\":[%ld]}\n", pe, resident);
    printf("{\"row\":\"proportional memory\",\"side\":\"ours\",\"pe\":%d,\"values\":[%ld]}\n", pe, share);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    if (argc > 1) {
        shmem_barrier_all();
        print_memory(shmem_my_pe());
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
