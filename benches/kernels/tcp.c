/* Two PEs that count as two nodes and reach each other over TCP, beside a bare connection between the same processes
 * over the same link, whose two ends spin. One operation of the bare ping-pong is one way. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MIB = 1 << 20, WINDOW = 16, WORDS = 512 };

static int raw;
static long *word, *stop, *longs, turn, stops;
static char *block, *local;

static void fail(const char *what)
{
    perror(what);
    shmem_global_exit(1);
}

/* Connects the two processes. */
static void connect_raw(void)
{
    static int port;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    if (door < 0)
        fail("socket");
    if (me == 0) {
        if (bind(door, (void *)&address, length) || listen(door, 1) || getsockname(door, (void *)&address, &length))
            fail("listen");
        shmem_int_p(&port, ntohs(address.sin_port), peer);
        shmem_barrier_all();
        raw = accept(door, NULL, NULL);
        close(door);
    } else {
        shmem_barrier_all();
        address.sin_port = htons(port);
        raw = connect(door, (void *)&address, length) ? -1 : door;
    }
    if (raw < 0 || setsockopt(raw, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        fail("connect");
}

/* Moves `bytes` bytes with a socket that never blocks. */
static void raw_send(const char *from, long bytes)
{
    for (long done = 0; done < bytes;) {
        long now = send(raw, from + done, bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (now > 0)
            done += now;
        else if (errno != EAGAIN)
            fail("send");
    }
}

static void raw_receive(char *to, long bytes)
{
    for (long done = 0; done < bytes;) {
        long now = recv(raw, to + done, bytes - done, MSG_DONTWAIT);
        if (now > 0)
            done += now;
        else if (now == 0 || errno != EAGAIN)
            fail("recv");
    }
}

/* n times one way: the PEs take turns. */
static void raw_one_way(long n)
{
    char bytes[8] = {0};
    for (long i = 0; i < n; i++)
        if ((i & 1) == me)
            raw_send(bytes, sizeof bytes);
        else
            raw_receive(bytes, sizeof bytes);
}

static void put_and_wait(long n)
{
    for (long i = 0; i < n; i++) {
        turn++;
        if ((i & 1) == me)
            shmem_long_p(word, turn, peer);
        else
            shmem_long_wait_until(word, SHMEM_CMP_GE, turn);
    }
}

/* PE 1 waits inside the library, in the barrier that follows. */
BATCH(get_word, if (me == 0) sink += shmem_long_g(word, peer))
BATCH(fetch_add, if (me == 0) sink += shmem_long_atomic_fetch_add(longs, 1, peer))
BATCH(barrier_all, shmem_barrier_all())
BATCH(max_long, shmem_long_max_reduce(SHMEM_TEAM_WORLD, longs + 1, longs, 1))

/* n times a mebibyte from one PE to the other, each to another place as the operations beside it, or all to one. The
 * receiver says when it has all. */
static void raw_stream(long n, int sender, long places)
{
    char byte = 0;
    for (long i = 0; i < n; i++)
        if (me == sender)
            raw_send(local + i % places * MIB, MIB);
        else
            raw_receive(block + i % places * MIB, MIB);
    if (me == sender)
        raw_receive(&byte, 1);
    else
        raw_send(&byte, 1);
}

/* PE 0 has the clock: to it, it takes as long as from it. */
static void raw_puts(long n) { raw_stream(n, 0, 1); }
static void raw_puts_in_turn(long n) { raw_stream(n, 0, WINDOW); }
static void raw_gets(long n) { raw_stream(n, 1, 1); }
static void raw_gets_in_turn(long n) { raw_stream(n, 1, WINDOW); }

static void put_mebibytes(long n)
{
    for (long i = 0; me == 0 && i < n; i++)
        shmem_putmem(block, local, MIB, peer);
    shmem_quiet();
}

static void put_mebibytes_nbi(long n)
{
    for (long i = 0; me == 0 && i < n; i++) {
        shmem_putmem_nbi(block + i % WINDOW * MIB, local + i % WINDOW * MIB, MIB, peer);
        if (i % WINDOW == WINDOW - 1)
            shmem_quiet();
    }
    shmem_quiet();
}

static void get_mebibytes(long n)
{
    for (long i = 0; me == 0 && i < n; i++)
        shmem_getmem(local, block, MIB, peer);
}

static void get_mebibytes_nbi(long n)
{
    for (long i = 0; me == 0 && i < n; i++) {
        shmem_getmem_nbi(local + i % WINDOW * MIB, block + i % WINDOW * MIB, MIB, peer);
        if (i % WINDOW == WINDOW - 1)
            shmem_quiet();
    }
    shmem_quiet();
}

static void many_puts(long n)
{
    static long value = 1;
    for (long i = 0; me == 0 && i < n; i++)
        shmem_long_put_nbi((long *)block + i % WORDS, &value, 1, peer);
    shmem_quiet();
}

/* PE 1 looks at nothing but its own memory until PE 0 says that it has enough. */
static void compute(void)
{
    while (atomic_load_explicit((atomic_long *)stop, memory_order_acquire) < stops)
        for (int i = 0; i < 100; i++)
            sink = sink * 5 + 1;
}

static void beside_computing(long n, long (*fetch)(void))
{
    stops++;
    if (me) {
        compute();
        return;
    }
    for (long i = 0; i < n; i++)
        sink += fetch();
    shmem_long_p(stop, stops, peer);
    shmem_quiet();
}

BATCH(call, empty_call())
BATCH(quiet, shmem_quiet())
BATCH(fence, shmem_fence())

static long fetch_word(void) { return shmem_long_g(word, peer); }
static long fetch_and_add(void) { return shmem_long_atomic_fetch_add(longs, 1, peer); }
static void get_beside_computing(long n) { beside_computing(n, fetch_word); }
static void fetch_add_beside_computing(long n) { beside_computing(n, fetch_and_add); }

void tcp(void)
{
    word = symmetric(sizeof *word);
    stop = symmetric(sizeof *stop);
    longs = symmetric(2 * sizeof *longs);
    block = symmetric(WINDOW * MIB);
    local = symmetric(WINDOW * MIB);
    connect_raw();
    row_timed_by_0("put and wait over TCP, one way", raw_one_way, put_and_wait);
    row_timed_by_0("get 8 B over TCP", raw_one_way, get_word);
    row_timed_by_0("fetch_add 8 B over TCP", raw_one_way, fetch_add);
    row_timed_by_0("barrier_all over TCP", raw_one_way, barrier_all);
    row_timed_by_0("max of 1 long over TCP", raw_one_way, max_long);
    row_timed_by_0("put 1 MiB over TCP", raw_puts, put_mebibytes);
    row_timed_by_0("put_nbi 1 MiB over TCP", raw_puts_in_turn, put_mebibytes_nbi);
    row_timed_by_0("get 1 MiB over TCP", raw_gets, get_mebibytes);
    row_timed_by_0("get_nbi 1 MiB over TCP", raw_gets_in_turn, get_mebibytes_nbi);
    row_timed_by_0("put_nbi 8 B over TCP", NULL, many_puts);
    row_on_0("quiet idle between nodes", call, quiet);
    row_on_0("fence idle between nodes", call, fence);
    row_timed_by_0("get from a PE that computes", raw_one_way, get_beside_computing);
    row_timed_by_0("fetch_add on a PE that computes", raw_one_way, fetch_add_beside_computing);
    close(raw);
}

/* Names the transport in a row. */
static void row_over(const char *operation, batch *ours)
{
    const char *transport = getenv("SHMEM_TRANSPORT");
    char name[128];
    snprintf(name, sizeof name, "%s over %s", operation, transport ? transport : "?");
    row_timed_by_0(name, raw_one_way, ours);
}

/* A provider of a fabric library between the same two PEs. */
void provider(void)
{
    word = symmetric(sizeof *word);
    stop = symmetric(sizeof *stop);
    connect_raw();
    row_over("get from a PE that waits", get_word);
    row_over("get from a PE that computes", get_beside_computing);
    close(raw);
}
