/* PE 0 puts to PE 3, which is stopped and has never heard of it. Meanwhile PE 1 has its atomics on PE 0 done, and then lets PE 3 go on.
 *
 * usage: stopped_peer, with 8 PEs on as many nodes */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

enum { FETCHES = 200 };

static long pid, begin, fetched, word;

/* The state of a process, as /proc shows it; 0: there is none. */
static char state(long process)
{
    char name[64], found = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", process);
    FILE *file = fopen(name, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d (%*[^)]) %c", &found) != 1)
            found = 0;
        fclose(file);
    }
    return found;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    if (me == 3) {
        shmem_long_p(&pid, (long)getpid(), 1);
        shmem_quiet();
        raise(SIGSTOP);
    } else if (me == 1) {
        shmem_long_atomic_fetch_inc(&fetched, 0);
        shmem_long_wait_until(&pid, SHMEM_CMP_NE, 0);
        while (state(pid) != 'T')
            usleep(1000);
        shmem_long_p(&begin, 1, 0);
        shmem_quiet();
        for (int i = 1; i < FETCHES; i++) {
            usleep(1000);
            shmem_long_atomic_fetch_inc(&fetched, 0);
        }
        kill((pid_t)pid, SIGCONT);
    } else if (me == 0) {
        shmem_long_wait_until(&begin, SHMEM_CMP_EQ, 1);
        shmem_long_p(&word, 1, 3);
    }
    shmem_barrier_all();
    if (me == 0)
        puts(fetched == FETCHES ? "all right" : "atomics are missing");
    if (me == 3 && word != 1)
        puts("the put is missing");
    shmem_finalize();
    return 0;
}
