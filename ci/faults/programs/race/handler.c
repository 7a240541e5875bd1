/* A handler of a signal that comes at any moment, also while the detector looks at the same variables. */
#include <shmem.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/time.h>

enum { MANY = 3000 };
static atomic_long ticks;
static volatile sig_atomic_t last;

static void tick(int signal)
{
    last = signal;
    atomic_fetch_add(&ticks, 1);
}

int main(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    long polls = 0;
    shmem_init();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (atomic_load(&ticks) < MANY)
        polls += last == SIGALRM;
    setitimer(ITIMER_REAL, &never, NULL);
    shmem_barrier_all();
    shmem_finalize();
    puts(polls > 0 ? "done" : "no signal has come");
    return 0;
}
