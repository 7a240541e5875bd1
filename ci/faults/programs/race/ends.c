/* What a program does at its end, and what it forks, when a race was found: only the PE's status tells of it.
   `ends`: the PE returns. `ends WAY STATUS`: it ends by the function of this name. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long cell;
static int me;
static pid_t process;

static void last_words(void)
{
    if (getpid() == process) {
        printf("the last words of PE %d\n", me);
        fflush(stdout);
    }
}

static void ends_well(const char *how, pid_t child)
{
    int status = -1;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        printf("the child of PE %d has ended with %x by %s\n", me, (unsigned)status, how);
}

static const struct {
    const char *name;
    void (*end)(int);
} ways[] = {{"exit", exit}, {"quick_exit", quick_exit}, {"_exit", _exit}, {"_Exit", _Exit}};
enum { WAYS = sizeof ways / sizeof *ways };

int main(int argc, char **argv)
{
    process = getpid();
    atexit(last_words);
    at_quick_exit(last_words);
    shmem_init();
    me = shmem_my_pe();
    shmem_long_p(&cell, me, 0);
    shmem_barrier_all();
    for (int way = 0; way < WAYS; way++) {
        pid_t child = fork();
        if (child == 0)
            ways[way].end(0);
        ends_well(ways[way].name, child);
    }
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    ends_well("_exit after vfork", child);
    shmem_finalize();
    for (int way = 0; way < WAYS && argc > 2; way++)
        if (strcmp(ways[way].name, argv[1]) == 0) {
            if (argv[1][0] == '_')
                last_words();
            ways[way].end(atoi(argv[2]));
        }
    return 0;
}
