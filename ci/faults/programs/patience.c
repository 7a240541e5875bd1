/* Programs in which PEs wait for eight seconds for something that comes. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 8

volatile long flag;
static long *heap_flag;
static int me;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void wait_for(long *variable)
{
    shmem_long_wait_until(variable, SHMEM_CMP_EQ, 5);
}

/* Starts a shell that this PE does not wait for. */
static void start(const char *format)
{
    char command[512];
    snprintf(command, sizeof command, format, (int)getpid(), (int)getpid());
    if (system(command) != 0)
        shmem_global_exit(98);
}

static void sleeps(void)
{
    if (me == 0)
        sleep(SECONDS);
}

static void computes(void)
{
    double end = now() + SECONDS;
    while (me == 0 && now() < end)
        ;
}

static void polls(void)
{
    if (me == 0)
        poll(NULL, 0, SECONDS * 1000);
}

static void tests(void)
{
    double end = now() + SECONDS;
    if (me == 0)
        while (!shmem_long_test((long *)&flag, SHMEM_CMP_EQ, 5))
            if (now() > end)
                flag = 5;
}

/* The others look for the set's first PE, which waits for the last one. */
static void comes_late_to_a_set(void)
{
    static int one = 1, sum, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    static long sync[SHMEM_REDUCE_SYNC_SIZE];
    int pes = shmem_n_pes();
    if (me == pes - 1) {
        sleep(SECONDS);
        shmem_long_p((long *)&flag, 5, 0);
    } else if (me == 0) {
        wait_for((long *)&flag);
    }
    shmem_int_sum_to_all(&sum, &one, 1, 0, 0, pes, work, sync);
    if (sum != pes)
        shmem_global_exit(97);
}

static void store(int number)
{
    (void)number;
    flag = 5;
}

/* A signal from outside; the handler stores what the PE waits for. */
static void handles_a_signal(void)
{
    if (me == 0) {
        signal(SIGUSR1, store);
        start("(sleep 8; kill -USR1 %d) >/dev/null 2>&1 &");
        wait_for((long *)&flag);
    }
}

/* A watchdog's. */
static void handles_an_abort(void)
{
    if (me == 0) {
        signal(SIGABRT, store);
        start("(sleep 8; kill -ABRT %d) >/dev/null 2>&1 &");
        wait_for((long *)&flag);
    }
}

/* The handler stores to another PE. */
static void store_there(int number)
{
    (void)number;
    *(volatile long *)shmem_ptr(heap_flag, 1) = 5;
}

static void handles_a_signal_for_another(void)
{
    if (me == 0) {
        signal(SIGALRM, store_there);
        alarm(SECONDS);
    } else {
        wait_for(heap_flag);
    }
}

/* The PE sleeps until it has been stopped and continued, however late a busy machine does that. */
static void is_stopped(void)
{
    if (me == 0) {
        sigset_t continued;
        sigemptyset(&continued);
        sigaddset(&continued, SIGCONT);
        pthread_sigmask(SIG_BLOCK, &continued, NULL);
        start("(sleep 1; kill -STOP %d; sleep 7; kill -CONT %d) >/dev/null 2>&1 &");
        sigwaitinfo(&continued, NULL);
    }
}

/* A debugger is attached: it stops the PE, and then stores what it waits for. */
static void is_debugged(void)
{
    if (me == 0) {
        start("(gdb -batch -p %d -ex 'shell sleep 8' -ex 'set var flag = 5' -ex detach) >/dev/null 2>&1 </dev/null &");
        wait_for((long *)&flag);
    }
}

static void *helper(void *there)
{
    sleep(SECONDS);
    *(volatile long *)there = 5;
    return NULL;
}

static void has_a_thread(void)
{
    pthread_t thread;
    if (me == 0) {
        pthread_create(&thread, NULL, helper, heap_flag);
        wait_for(heap_flag);
        pthread_join(thread, NULL);
    }
}

static void has_a_child(void)
{
    if (me == 0) {
        pid_t child = fork();
        if (child == 0) {
            helper(heap_flag);
            _exit(0);
        }
        wait_for(heap_flag);
        waitpid(child, NULL, 0);
    }
}

/* The child of the child is nobody's child of this process. */
static void has_a_descendant(void)
{
    if (me == 0) {
        pid_t child = fork();
        if (child == 0) {
            if (fork() == 0)
                helper(heap_flag);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        wait_for(heap_flag);
    }
}

static void reads(void)
{
    char text[8];
    if (me == 0) {
        FILE *pipe = popen("sleep 8; echo done", "r");
        if (fgets(text, sizeof text, pipe) == NULL)
            shmem_global_exit(97);
        pclose(pipe);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        { "sleeps", sleeps }, { "computes", computes }, { "polls", polls }, { "tests", tests },
        { "handles_a_signal", handles_a_signal }, { "handles_an_abort", handles_an_abort },
        { "handles_a_signal_for_another", handles_a_signal_for_another },
        { "is_stopped", is_stopped }, { "is_debugged", is_debugged }, { "has_a_thread", has_a_thread },
        { "has_a_child", has_a_child }, { "has_a_descendant", has_a_descendant }, { "reads", reads },
        { "comes_late_to_a_set", comes_late_to_a_set },
    };
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    heap_flag = shmem_calloc(1, sizeof *heap_flag);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            double begin = now();
            cases[i].run();
            shmem_barrier_all();
            if (now() - begin < SECONDS - 1)
                shmem_global_exit(96);
            shmem_finalize();
            return 0;
        }
    shmem_global_exit(99);
}
