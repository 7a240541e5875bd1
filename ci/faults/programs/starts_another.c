// A PE starts this program again while the library is in use, or becomes it behind its finalize.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "last";
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_barrier_all();
    if (!strcmp(how, "child") && me == 0) {
        char command[4096];
        snprintf(command, sizeof command, "'%s' last", argv[0]);
        int status = system(command);
        printf("the child has ended %s\n", status == 0 ? "well" : "with a failure");
        fflush(stdout);
    }
    // The others wait here for PE 0, and nothing that its child does lets them on.
    shmem_barrier_all();
    printf("%s: PE %d of %d\n", how, me, n);
    fflush(stdout);
    shmem_finalize();
    if (!strcmp(how, "next")) {
        execl(argv[0], argv[0], "last", (char *)NULL);
        return 1;
    }
    return 0;
}
