/* Each PE keeps a signal back after shmem_init, sends it to itself and takes it. A thread of the library, or of the network's, must
 * not take it first: nobody handles it, so that would end the PE. */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    static long number;
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), taken = 0;
    /* The network is in use, and so are its threads. */
    shmem_long_p(&number, me, (me + 1) % npes);
    shmem_barrier_all();
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    kill(getpid(), SIGUSR1);
    sigwait(&own, &taken);
    shmem_barrier_all();
    if (me == 0 && taken == SIGUSR1)
        printf("all right\n");
    shmem_finalize();
    return 0;
}
