/* A handler of a signal ends PE 0 while it puts to all others without a pause, and so nearly always holds a lock of the network. */
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void end(int number)
{
    (void)number;
    exit(7);
}

int main(void)
{
    static long number;
    shmem_init();
    int others = shmem_n_pes() - 1;
    shmem_barrier_all();
    if (shmem_my_pe() == 0 && others > 0) {
        signal(SIGALRM, end);
        alarm(1);
        for (int put = 0;; put = (put + 1) % others)
            shmem_long_p(&number, 1, 1 + put);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
