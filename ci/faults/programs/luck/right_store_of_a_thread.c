/* A thread of a PE that stores without a call ends the PE's wait, while other PEs ask one of them without pause. */
#define OWN_MAIN
#include "luck.h"
#include <pthread.h>
#include <time.h>
static long flag, done;
static void *store(void *nothing)
{
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return nothing;
}
int main(void)
{
    int level;
    shmem_init_thread(SHMEM_THREAD_FUNNELED, &level);
    const int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (me == 0) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, store, NULL), 0);
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
        pthread_join(thread, NULL);
        shmem_long_atomic_set(&done, 1, last);
    } else {
        while (shmem_long_atomic_fetch(&done, last) == 0)
            ;
    }
    shmem_finalize();
}
