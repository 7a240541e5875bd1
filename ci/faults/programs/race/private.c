/* Two threads that hand private memory to each other with nothing that the detector sees. It looks at symmetric memory only: arrays from
   malloc, stacks and the library's own memory are the business of other tools. */
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIB = 1 << 20, WHERE = 4 };
static volatile int *place[WHERE];

static void *other(void *unused)
{
    (void)unused;
    for (int at = 0; at < WHERE; at++) {
        while (place[at][0] == 0)
            sched_yield();
        place[at][1] = 1;
    }
    return NULL;
}

static void *first(void *unused)
{
    volatile int on_stack[2] = {0, 0};
    pthread_t thread;
    (void)unused;
    place[3] = on_stack;
    pthread_create(&thread, NULL, other, NULL);
    for (int at = 0; at < WHERE; at++) {
        place[at][0] = 1;
        while (place[at][1] == 0)
            sched_yield();
    }
    pthread_join(thread, NULL);
    return NULL;
}

int main(void)
{
    int provided;
    volatile int on_stack[2] = {0, 0};
    pthread_t thread;
    /* Mapped before the heap and behind it. */
    place[0] = calloc(1, MIB);
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    place[1] = calloc(1, MIB);
    place[2] = on_stack;
    pthread_create(&thread, NULL, first, NULL);
    pthread_join(thread, NULL);
    shmem_barrier_all();
    shmem_finalize();
    puts("done");
    return 0;
}
