/* Finalizes MPI, and then the library. MPI is what MPICH's does with the launcher: it says good-bye, and shuts the connection down, which
 * is the library's, too. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int finalized;

int MPI_Finalized(int *flag);
int MPI_Finalized(int *flag)
{
    *flag = finalized;
    return 0;
}

static int finalize_mpi(void)
{
    static const char goodbye[] = "cmd=finalize\n";
    const char *number = getenv("PMI_FD");
    const int fd = number ? atoi(number) : -1;
    char last = 0;
    if (send(fd, goodbye, strlen(goodbye), MSG_NOSIGNAL) < 0)
        return 1;
    while (last != '\n')
        if (read(fd, &last, 1) != 1)
            return 1;
    finalized = 1;
    return shutdown(fd, SHUT_RDWR) != 0 || close(fd) != 0;
}

int main(void)
{
    static long word;
    shmem_init();
    shmem_long_atomic_inc(&word, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    if (finalize_mpi() != 0)
        return 2;
    shmem_finalize();
    printf("PE has %ld\n", word);
    return 0;
}
