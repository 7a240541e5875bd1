/* Children that a PE forks store into static variables, while another PE puts into those of the PE: a child has a copy of its own. It leaves
   its result in a block of the heap, which it shares with the PE. Meanwhile a second thread of the PE is in the detector, and a child must
   not wait for what that thread holds there. */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4, CHILDREN = 40 };
static long row[WORDS], single, in_handler;
static int over;
static long *result;

/* The program has registered this before its init. */
static void child_begins(void) { in_handler = 1; }

static void meet_alone(pthread_mutex_t *mutex)
{
    pthread_barrier_t alone;
    pthread_barrier_init(&alone, NULL, 1);
    pthread_mutex_lock(mutex);
    pthread_barrier_wait(&alone);
    pthread_mutex_unlock(mutex);
    pthread_barrier_destroy(&alone);
}

static void *work(void *unused)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        meet_alone(&mutex);
    return unused;
}

static void *store(void *beginning)
{
    long copy[WORDS];
    for (int i = 0; i < WORDS; i++)
        row[i] += *(long *)beginning;
    memcpy(copy, row, sizeof copy);
    __atomic_fetch_add(&single, 1, __ATOMIC_SEQ_CST);
    *result = copy[0];
    return NULL;
}

/* Returns the status of the child's end. */
static int child(int generations)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    long beginning = 10;
    int status = 0;
    memset(row, 0, sizeof row);
    if (in_handler != 1)
        return 1;
    store(&beginning);
    meet_alone(&mutex);
    if (pthread_create(&thread, NULL, store, &beginning) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    for (int i = 0; i < WORDS; i++)
        if (row[i] != 20)
            return 3;
    if (generations > 1) {
        pid_t next = fork();
        if (next == 0)
            _exit(child(generations - 1));
        if (waitpid(next, &status, 0) != next || !WIFEXITED(status))
            return 4;
    }
    return WEXITSTATUS(status);
}

int main(void)
{
    long source[WORDS] = {1, 2, 3, 4};
    pthread_t thread;
    pthread_atfork(NULL, NULL, child_begins);
    shmem_init();
    const int me = shmem_my_pe(), other = (me + 1) % shmem_n_pes();
    result = shmem_malloc(sizeof *result);
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t forked = fork();
        if (forked == 0)
            _exit(child(2));
        shmem_long_put(row, source, WORDS, other);
        shmem_long_p(&single, 7, other);
        shmem_long_p(&in_handler, 0, other);
        if (waitpid(forked, &status, 0) != forked || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("a child of PE %d has ended with %x\n", me, (unsigned)status);
            shmem_global_exit(1);
        }
        if (*result != 20)
            shmem_global_exit(2);
        *result = 0;
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    shmem_barrier_all();
    if (memcmp(row, source, sizeof row) != 0 || single != 7 || in_handler != 0) {
        printf("PE %d has %ld %ld %ld\n", me, row[0], single, in_handler);
        shmem_global_exit(1);
    }
    shmem_finalize();
    return 0;
}
