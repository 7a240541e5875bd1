// Each PE puts 8 bytes to every other one; then a barrier, a maximum, a split and the end. One line tells the seconds.
#include <dirent.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long from[1 << 16];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static long descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        return -1;
    }
    long count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    // The two names of folders, and the folder itself.
    return count - 3;
}

int main(void) {
    double begin = seconds();
    shmem_init();
    double started = seconds();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int pe = 0; pe < pes; pe++) {
        shmem_long_p(&from[me], pe * 100000L + me + 1, pe);
    }
    double issued = seconds();
    shmem_barrier_all();
    double met = seconds();
    for (int pe = 0; pe < pes; pe++) {
        if (from[pe] != me * 100000L + pe + 1) {
            fprintf(stderr, "PE %d has %ld of PE %d\n", me, from[pe], pe);
            shmem_global_exit(3);
        }
    }
    static long mine[3], most[3];
    mine[0] = me, mine[1] = descriptors(), mine[2] = (long)((met - started) * 1e3);
    if (shmem_long_max_reduce(SHMEM_TEAM_WORLD, most, mine, 3) || most[0] != pes - 1) {
        fprintf(stderr, "PE %d has the maximum %ld\n", me, most[0]);
        shmem_global_exit(4);
    }
    double reduced = seconds();
    int columns = 1;
    while (columns * columns < pes) {
        columns++;
    }
    shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    int failed = shmem_team_split_2d(SHMEM_TEAM_WORLD, columns, NULL, 0, &row, NULL, 0, &column);
    if (failed || shmem_team_my_pe(row) != me % columns || shmem_team_my_pe(column) != me / columns) {
        fprintf(stderr, "PE %d has place %d, %d\n", me, shmem_team_my_pe(row), shmem_team_my_pe(column));
        shmem_global_exit(5);
    }
    shmem_team_sync(row);
    shmem_team_sync(column);
    double split = seconds();
    shmem_finalize();
    if (me == 0) {
        double end = seconds();
        printf("%d PEs met: init %.2f s, puts %.2f s, barrier %.2f s, maximum %.2f s, split %.2f s, finalize %.2f s; descriptors %ld\n",
               pes, started - begin, issued - started, met - issued, reduced - met, split - reduced, end - split, most[1]);
    }
    return 0;
}
