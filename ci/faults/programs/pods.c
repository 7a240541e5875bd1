/* A PE in a pod: it sends its number around a ring, and ends as its argument says. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int from_left = -1;

int main(int argc, char **argv) {
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    const char *wish = argc > 1 ? argv[1] : "end";
    shmem_int_p(&from_left, me, (me + 1) % pes);
    shmem_barrier_all();
    if (from_left != (me + pes - 1) % pes) {
        printf("PE %d: WRONG, %d came from the left\n", me, from_left);
        shmem_global_exit(1);
    }
    char host[64];
    gethostname(host, sizeof host);
    printf("PE %d of %d on %s\n", me, pes, host);
    fflush(stdout);
    shmem_barrier_all();
    if (strcmp(wish, "fail") == 0 && me == pes - 1)
        exit(5);
    if (strcmp(wish, "stay") == 0 || strcmp(wish, "fail") == 0) {
        if (me == 0 && argc > 2) {
            FILE *mark = fopen(argv[2], "w");
            if (mark != NULL)
                fclose(mark);
        }
        static int never = 0;
        shmem_int_wait_until(&never, SHMEM_CMP_EQ, 1);
    }
    shmem_finalize();
    return 0;
}
