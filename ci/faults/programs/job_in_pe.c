/* PE 0 runs this program as a job of one PE while its own job goes on. With the argument `again` each PE executes the program once more in
 * its own place when its job is over. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GETS = 100, PUTS = 7, BARRIERS = 3 };

static long word;

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    if (strcmp(part, "alone") == 0) {
        for (int i = 0; i < GETS; i++)
            word += shmem_long_g(&word, me);
        printf("alone: PE %d of %d\n", me, npes);
        fflush(stdout);
    } else if (strcmp(part, "last") == 0) {
        for (int i = 0; i < PUTS; i++)
            shmem_long_p(&word, i, (me + 1) % npes);
    } else {
        for (int i = 0; i < BARRIERS; i++)
            shmem_barrier_all();
        if (me == 0) {
            char command[4096];
            snprintf(command, sizeof command, "SHMEM_SINGLETON=1 '%s' alone", argv[0]);
            if (system(command) != 0)
                shmem_global_exit(3);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    if (strcmp(part, "again") == 0)
        execl(argv[0], argv[0], "last", (char *)NULL);
    return 0;
}
