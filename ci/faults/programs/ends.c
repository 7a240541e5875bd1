/* Ends in the way that the argument names. */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    static long number;
    shmem_init();
    shmem_long_p(&number, 1, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    shmem_barrier_all();
    const char *how = count > 1 ? arguments[1] : "";
    if (strcmp(how, "kill") == 0 && shmem_my_pe() == 1)
        raise(SIGKILL);
    if (strcmp(how, "exit") == 0)
        shmem_global_exit(3);
    if (strcmp(how, "unflushed") == 0) {
        printf("the last words");
        shmem_global_exit(3);
    }
    if (strcmp(how, "return") == 0)
        return 0;
    shmem_barrier_all();
    shmem_finalize();
    if (strcmp(how, "twice") == 0)
        shmem_finalize();
    return 0;
}
