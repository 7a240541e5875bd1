/* What a program does at its end, and what it forks, when a race was found: only the PE's status tells of it. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long cell;
static int me;
static pid_t process;

static void last_words(void)
{
    if (getpid() == process)
        printf("the last words of PE %d\n", me);
}

int main(void)
{
    int status = -1;
    process = getpid();
    atexit(last_words);
    shmem_init();
    me = shmem_my_pe();
    shmem_long_p(&cell, me, 0);
    shmem_barrier_all();
    pid_t child = fork();
    if (child == 0)
        exit(0);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        printf("the child of PE %d has ended with %x\n", me, (unsigned)status);
    shmem_finalize();
    return 0;
}
