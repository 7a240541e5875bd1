/* A thread of PE 0 ends its process while the main thread is in shmem_init, or in shmem_finalize behind start_pes, and waits there for
 * PE 1, which does not come. With a second argument a handler of a signal may end it in place of the thread, and a function of atexit
 * finalizes, as destructors of C++ may. */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void handle(int number)
{
    (void)number;
    exit(7);
}

static void *end(void *unused)
{
    (void)unused;
    sleep(1);
    exit(7);
}

int main(int count, char **arguments)
{
    const char *rank = getenv("PMI_RANK");
    int is_late = rank == NULL || strcmp(rank, "0") != 0;
    int begins = count > 1 && strcmp(arguments[1], "init") == 0;
    const char *way = count > 2 ? arguments[2] : "";
    int by_handler = strncmp(way, "handler", 7) == 0;
    pthread_t thread;
    if (*way != 0 && strcmp(way, "handler-behind") != 0 && atexit(shmem_finalize) != 0)
        return 1;
    if (!begins)
        start_pes(0);
    if (strcmp(way, "handler-behind") == 0 && atexit(shmem_finalize) != 0)
        return 1;
    if (is_late) {
        sleep(60);
    } else if (by_handler) {
        signal(SIGALRM, handle);
        alarm(1);
    } else if (pthread_create(&thread, NULL, end, NULL) != 0) {
        return 1;
    }
    if (begins)
        shmem_init();
    shmem_finalize();
    return 0;
}
