/* Every PE makes the same mistake, which ends nothing, and prints something of its own that looks much like an error. */
#include <shmem.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    pid_t child = fork();
    if (child == 0) {
        shmem_finalize(); /* a child of a PE is no PE */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    fprintf(stderr, "own words\n  because: all PEs say so\n");
    shmem_barrier_all();
    if (me == 0)
        fprintf(stderr, "behind all errors\n");
    shmem_finalize();
    return 0;
}
