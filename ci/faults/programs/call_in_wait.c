/* PE 0 waits, and a handler of signals makes calls meanwhile: five puts to the PE itself, of which the last one ends the wait. With an
 * argument that one goes to PE 1, which is killed then, so that the wait does not end. Five more puts follow the wait. */
#include <shmem.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { INSIDE = 5, BEHIND = 5 };

static long flag, count, told;
static int is_to_be_killed;

static void handle(int number)
{
    static long calls;
    (void)number;
    if (++calls < INSIDE)
        shmem_long_p(&count, calls, 0);
    else if (calls == INSIDE)
        shmem_long_p(is_to_be_killed ? &told : &flag, 1, is_to_be_killed);
}

int main(int argc, char **argv)
{
    (void)argv;
    is_to_be_killed = argc > 1;
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        struct itimerval often = {{0, 50000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
        signal(SIGALRM, handle);
        setitimer(ITIMER_REAL, &often, NULL);
        shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
        setitimer(ITIMER_REAL, &never, NULL);
        for (long i = 0; i < BEHIND; i++)
            shmem_long_p(&count, i, 0);
    } else if (is_to_be_killed) {
        shmem_long_wait_until(&told, SHMEM_CMP_NE, 0);
        sleep(1);
        raise(SIGKILL);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
