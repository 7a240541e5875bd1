/* More active sets than a node has places, in turn, at the highest level of threads: they take no more memory from call to call. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SETS = 600, ROUNDS = 200, MIB = 1 << 20 };

static long arrays[SETS][SHMEM_BARRIER_SYNC_SIZE];

/* Bytes of memory that the process has. */
static long memory(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void rounds(int count)
{
    for (int round = 0; round < count; round++)
        for (int set = 0; set < SETS; set++) shmem_sync(0, 0, shmem_n_pes(), arrays[set]);
}

int main(void)
{
    int provided;
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++) arrays[set][i] = SHMEM_SYNC_VALUE;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    rounds(3);
    long before = memory();
    rounds(ROUNDS);
    long more = memory() - before;
    if (more > 16 * MIB) {
        printf("%ld MiB more\n", more / MIB);
        exit(3);
    }
    shmem_finalize();
    return 0;
}
