/* A thread that is not the program's first one initialises the library, stores, and is joined. `first_thread wrong`: the store is read
   before the join. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static long cell;
static volatile int *told;
static volatile long sink;
static sem_t *initialised, *go;

static void *begins(void *unused)
{
    int provided;
    (void)unused;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    sem_post(initialised);
    sem_wait(go);
    cell = 1;
    *told = 1;
    return NULL;
}

int main(int argc, char **argv)
{
    sem_t private_initialised, private_go;
    volatile int private_told = 0;
    pthread_t thread;
    initialised = &private_initialised, go = &private_go, told = &private_told;
    sem_init(initialised, 0, 0);
    sem_init(go, 0, 0);
    pthread_create(&thread, NULL, begins, NULL);
    sem_wait(initialised);
    /* From here on the detector knows this thread. */
    sink = cell;
    sem_post(go);
    if (argc > 1 && strcmp(argv[1], "wrong") == 0) {
        while (!*told)
            sched_yield();
        sink = cell;
    }
    pthread_join(thread, NULL);
    sink = cell;
    shmem_barrier_all();
    shmem_finalize();
    puts("done");
    return 0;
}
