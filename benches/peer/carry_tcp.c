/* Bare TCP connections over the loopback device. */
#define _GNU_SOURCE
#include "carry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

static int doors[PROCESSES], connections[PROCESSES];
static struct sockaddr_in addresses[PROCESSES];

void before_fork(void)
{
    for (int process = 0; process < count; process++) {
        socklen_t length = sizeof *addresses;
        addresses[process] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        doors[process] = socket(AF_INET, SOCK_STREAM, 0);
        if (doors[process] < 0 || bind(doors[process], (void *)&addresses[process], length)
            || listen(doors[process], count) || getsockname(doors[process], (void *)&addresses[process], &length))
            fail("listen");
    }
}

/* Calls those before this process, and hears those after it. Each says its number first. */
void after_fork(void)
{
    const int one = 1;
    for (int other = 0; other < me; other++) {
        connections[other] = socket(AF_INET, SOCK_STREAM, 0);
        if (connections[other] < 0
            || connect(connections[other], (const void *)&addresses[other], sizeof addresses[other])
            || send(connections[other], &me, sizeof me, MSG_NOSIGNAL) != (ssize_t)sizeof me)
            fail("connect");
    }
    for (int caller = me + 1; caller < count; caller++) {
        int other = -1;
        const int heard = accept(doors[me], NULL, NULL);
        if (heard < 0 || recv(heard, &other, sizeof other, MSG_WAITALL) != (ssize_t)sizeof other || other <= me
            || other >= count)
            fail("accept");
        connections[other] = heard;
    }
    for (int other = 0; other < count; other++) {
        if (other != me && setsockopt(connections[other], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
            fail("TCP_NODELAY");
        /* The default may pace, which a limit should not. */
        if (other != me && setsockopt(connections[other], IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno")))
            fail("TCP_CONGESTION");
    }
}

void exchange(int to, size_t out, int from, size_t in)
{
    size_t sent = to < 0 ? out : 0, received = from < 0 ? in : 0;
    while (sent < out || received < in) {
        ssize_t moved = -1;
        if (sent < out && (moved = send(connections[to], source + sent, out - sent, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
            sent += (size_t)moved;
        else if (moved < 0 && sent < out && errno != EAGAIN)
            fail("send");
        if (received < in) {
            const ssize_t came = recv(connections[from], dest + received, in - received, MSG_DONTWAIT);
            if (came == 0 || (came < 0 && errno != EAGAIN))
                fail("recv");
            if (came > 0)
                received += (size_t)came;
            else if (shared && moved < 0)
                sched_yield();
        }
    }
}
