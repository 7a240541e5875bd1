/* PE 1 takes private memory until the kernel ends it, or a gigabyte. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    shmem_init();
    FILE *file = fopen("/proc/self/oom_score_adj", "r");
    int score = 0;
    if (shmem_my_pe() == 0 && file && fscanf(file, "%d", &score) == 1) {
        printf("a score of %d\n", score);
        fflush(stdout);
    }
    for (int i = 0; shmem_my_pe() == 1 && i < 1024; i++) {
        char *more = malloc(1 << 20);
        if (more)
            memset(more, 1, 1 << 20);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
