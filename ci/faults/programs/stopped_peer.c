/* PE 0 puts to PE 3, which is stopped. Meanwhile PE 1 has its atomics on PE 0 done, and then lets PE 3 go on. PE 3 has never heard of PE 0
 * (`first`), or PE 0 puts more than can be under way (`much`).
 *
 * usage: stopped_peer first|much, with 8 PEs on as many nodes */
#include <shmem.h>
#include "stopped_process.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { FETCHES = 200, PUTS = 2000, BYTES = 65536 };

static long pid, begin, fetched, word;
static char block[BYTES];

int main(int count, char **arguments)
{
    shmem_init();
    int me = shmem_my_pe(), much = count > 1 && strcmp(arguments[1], "much") == 0;
    if (much && me == 0)
        shmem_long_atomic_fetch_inc(&word, 3);
    shmem_barrier_all();
    if (me == 3) {
        shmem_long_p(&pid, (long)getpid(), 1);
        shmem_quiet();
        raise(SIGSTOP);
    } else if (me == 1) {
        shmem_long_atomic_fetch_inc(&fetched, 0);
        shmem_long_wait_until(&pid, SHMEM_CMP_NE, 0);
        wait_until_stopped(pid);
        shmem_long_p(&begin, 1, 0);
        shmem_quiet();
        for (int i = 1; i < FETCHES; i++) {
            usleep(1000);
            shmem_long_atomic_fetch_inc(&fetched, 0);
        }
        kill((pid_t)pid, SIGCONT);
    } else if (me == 0) {
        shmem_long_wait_until(&begin, SHMEM_CMP_EQ, 1);
        for (int i = 0; much && i < PUTS; i++)
            shmem_putmem_nbi(block, block, BYTES, 3);
        shmem_long_p(&word, 2, 3);
    }
    shmem_barrier_all();
    if (me == 0)
        puts(fetched == FETCHES ? "all right" : "atomics are missing");
    if (me == 3 && word != 2)
        puts("the put is missing");
    shmem_finalize();
    return 0;
}
