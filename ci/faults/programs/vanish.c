/* One PE ends without a word, in the way that the first argument names, while the others are in the call that the second
 * names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long word;

static void vanish(const char *way)
{
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(way, "syscall") == 0)
        syscall(SYS_exit_group, 0);
    if (strcmp(way, "exec") == 0)
        execlp("sleep", "sleep", "600", (char *)0);
    if (strcmp(way, "exec_true") == 0)
        execlp("true", "true", (char *)0);
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (strcmp(way, "daemon") == 0) {
        if (fork() != 0)
            _exit(0);
        setsid();
        if (fork() != 0)
            _exit(0);
        sleep(600);
    }
    if (strncmp(way, "closefrom", 9) == 0) {
        /* Nothing has ended: this is still a PE, and must not be taken for gone. */
        long fd;
        for (fd = 3; fd < 1024; fd++)
            close((int)fd);
        if (strcmp(way, "closefrom_and_wait") != 0)
            sleep(2);
        return;
    }
}

/* Whether the program has lost a file in shmem_finalize. Its files may have the numbers of descriptors that the library had. */
static int loses_a_file(void)
{
    int files[64], i, lost = 0;
    for (i = 0; i < 64; i++)
        files[i] = open("/dev/null", O_WRONLY);
    shmem_finalize();
    for (i = 0; i < 64; i++)
        lost |= fcntl(files[i], F_GETFD) < 0;
    return lost;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "_exit", *call = argc > 2 ? argv[2] : "barrier";
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    long *far = shmem_calloc(1, sizeof(long));
    if (strcmp(call, "test_lock") == 0 && me == last)
        shmem_set_lock(far);
    shmem_barrier_all();
    if (me == last)
        vanish(way);
    while (strcmp(call, "test") == 0 && !shmem_long_test(&word, SHMEM_CMP_NE, 0))
        ;
    while (strcmp(call, "test_lock") == 0 && shmem_test_lock(far) != 0)
        ;
    shmem_req_h request = SHMEM_REQ_INVALID;
    if (strcmp(call, "request") == 0 || strcmp(call, "finalize") == 0)
        shmemx_sync_nb(SHMEM_TEAM_WORLD, &request);
    while (strcmp(call, "request") == 0 && shmem_req_test(&request) != 0)
        ;
    if (strcmp(call, "finalize") == 0)
        shmem_finalize();
    if (strcmp(call, "lock") == 0 && me != last)
        shmem_set_lock(far);
    if (strcmp(call, "wait") == 0 && me != last)
        shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
    /* PE 0 is in the barrier, and has something to serve all the time. */
    while (strcmp(call, "poll") == 0 && me == 1 && shmem_long_atomic_fetch(&word, 0) == 0)
        ;
    if (strcmp(call, "later") == 0 || (strcmp(call, "late") == 0 && me != last))
        sleep(1);
    shmem_barrier_all();
    if (strcmp(call, "late") == 0 && loses_a_file())
        puts("a file is lost");
    if (strcmp(call, "again") == 0) {
        shmem_finalize();
        shmem_init();
    }
    if (me == 0)
        puts("together");
    fflush(stdout);
    _exit(0);
}
