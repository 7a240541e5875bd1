/* Each PE prints the addresses on which it listens. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <shmem.h>
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
    static long number = -1;
    shmem_init();
    shmem_long_p(&number, 1, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    for (int fd = 0; fd < 1024; fd++) {
        int listens = 0;
        struct sockaddr_storage address;
        socklen_t size = sizeof listens, length = sizeof address;
        char text[INET6_ADDRSTRLEN] = "?";
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
            continue;
        getsockname(fd, (struct sockaddr *)&address, &length);
        if (address.ss_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof text);
        else if (address.ss_family == AF_INET6)
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, text, sizeof text);
        printf("PE %d listens on %s\n", shmem_my_pe(), text);
    }
    shmem_finalize();
    return 0;
}
