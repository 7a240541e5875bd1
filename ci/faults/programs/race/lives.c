/* A thread that is older than the library, and lives through two of its lives. It and the first thread hand symmetric memory to each
   other with semaphores, and call one at a time. `lives wrong`: the last time without. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 20 };
static long cell, far;
static volatile int *told;
static volatile long sink;
static sem_t *go, *done;

static void *other(void *unused)
{
    (void)unused;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        sem_wait(go);
        cell += 1;
        shmem_long_p(&far, cell, shmem_my_pe());
        shmem_quiet();
        sem_post(done);
    }
    sem_wait(go);
    cell = 0;
    *told = 1;
    return NULL;
}

static void live(int first)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided);
    for (int round = 0; round < ROUNDS; round++) {
        cell = round;
        /* The thread comes first in the second life. */
        if (first || round > 0)
            shmem_barrier_all();
        sem_post(go);
        sem_wait(done);
        sink = cell + far;
    }
}

int main(int argc, char **argv)
{
    sem_t private_go, private_done;
    volatile int private_told = 0;
    pthread_t thread;
    int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
    go = &private_go, done = &private_done, told = &private_told;
    sem_init(go, 0, 0);
    sem_init(done, 0, 0);
    pthread_create(&thread, NULL, other, NULL);
    live(1);
    shmem_finalize();
    live(0);
    sem_post(go);
    if (wrong) {
        while (!*told)
            sched_yield();
        sink = cell;
    }
    pthread_join(thread, NULL);
    sink = cell;
    shmem_finalize();
    puts("done");
    return 0;
}
