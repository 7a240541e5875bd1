/* A thread that has made no call asks behind the last shmem_finalize whether the library is initialised. */
#include <pthread.h>
#include <shmem.h>

static void *ask(void *initialized)
{
    shmem_query_initialized(initialized);
    return NULL;
}

int main(void)
{
    int provided, initialized = 1;
    pthread_t thread;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    shmem_barrier_all();
    shmem_finalize();
    if (pthread_create(&thread, NULL, ask, &initialized) != 0)
        return 1;
    pthread_join(thread, NULL);
    return initialized;
}
