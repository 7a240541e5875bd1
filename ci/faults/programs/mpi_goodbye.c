/* A PE whose launcher ends the connection when MPI is finalized, as Hydra does. The program is its own launcher, by PMI-1, and its own MPI:
 * mpi_goodbye finalized|lost. With LIBRARY it is a library of MPI alone, and with MODULE a program that opens one for itself:
 * mpi_goodbye finalized LIBRARY. */
#include <dlfcn.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int finalized;

#ifndef MODULE
int MPI_Finalized(int *flag);
int MPI_Finalized(int *flag)
{
#ifdef LIBRARY
    finalized = 1;
#endif
    *flag = finalized;
    return 0;
}
#endif

#ifndef LIBRARY
static long word;

/* Answers until it is killed. */
static void serve(int fd)
{
    static const char *const answers[][2] = {
        { "cmd=init ", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0" },
        { "cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024" },
        { "cmd=get_appnum", "cmd=appnum appnum=0" },
        { "cmd=get_my_kvsname", "cmd=my_kvsname kvsname=space" },
        { "cmd=get ", "cmd=get_result rc=0 msg=success value=(vector,(0,1,1))" },
        { "cmd=put ", "cmd=put_result rc=0 msg=success" },
        { "cmd=barrier_in", "cmd=barrier_out" },
    };
    FILE *in = fdopen(fd, "r");
    char line[4096];
    while (in && fgets(line, sizeof line, in))
        for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
            if (strncmp(line, answers[i][0], strlen(answers[i][0])) == 0) {
                dprintf(fd, "%s\n", answers[i][1]);
                break;
            }
    _exit(0);
}

/* A launcher that is lost ends the PE long before. */
static void *store(void *nothing)
{
    usleep(finalized ? 500000 : 20000000);
    shmem_long_p(&word, 1, 0);
    return nothing;
}

int main(int argc, char **argv)
{
    int pair[2], level;
    pthread_t thread;
    char number[16];
    if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 2;
    if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL))
        return 3;
    /* SIGPIPE keeps its handling: the PE writes to a connection that has ended. */
    const pid_t launcher = fork();
    if (launcher < 0)
        return 2;
    if (launcher == 0) {
        close(pair[0]);
        serve(pair[1]);
    }
    close(pair[1]);
    snprintf(number, sizeof number, "%d", pair[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "1", 1);
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    kill(launcher, SIGKILL);
    waitpid(launcher, NULL, 0);
    finalized = strcmp(argv[1], "finalized") == 0;
    pthread_create(&thread, NULL, store, NULL);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    pthread_join(thread, NULL);
    shmem_finalize();
    puts("went on");
    return 0;
}
#endif
