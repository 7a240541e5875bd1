/* PE 1 shuts its TCP connections down while all PEs live, as a firewall may, and all go on to meet. */
#include <netinet/in.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void cut(void)
{
    const char *launcher = getenv("PMI_FD");
    int connections = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;
        if (launcher && fd == atoi(launcher))
            continue;
        if (!getpeername(fd, (struct sockaddr *)&peer, &length) &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
            connections += !shutdown(fd, SHUT_RDWR);
    }
    printf("connections cut: %s\n", connections ? "some" : "none");
    fflush(stdout);
}

int main(void)
{
    static long number;
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    /* Each PE has connections to the next one. */
    shmem_long_atomic_inc(&number, (me + 1) % npes);
    shmem_barrier_all();
    if (me == 1) {
        /* The others wait meanwhile, and nothing is under way. */
        usleep(200000);
        cut();
        usleep(200000);
    }
    for (int i = 0; i < 100; i++)
        shmem_barrier_all();
    printf("all met\n");
    shmem_finalize();
    return 0;
}
