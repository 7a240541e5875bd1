/* What the machine charges without any library: memcpy, loads and stores between two processes, and a bare TCP connection. */
#define _GNU_SOURCE /* getaddrinfo */
#include "bench.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char *source, *dest;
static size_t size;

static void clear(unsigned seed)
{
    fill(source, size, seed, 0, 0);
    fill(dest, size, ~seed, 0, 0);
}

static void copy(long n)
{
    for (long i = 0; i < n && me == 0; i++) {
        memcpy(dest, source, size);
        /* The compiler must not remove copies that nothing reads. */
        atomic_signal_fence(memory_order_seq_cst);
    }
}

static int copied(unsigned seed, long n) { return (void)n, me != 0 || is_filled(dest, size, seed, 0, 0); }

static _Atomic long *mine, *theirs;
static long count;

static void spin_until(_Atomic long *word, long value)
{
    for (long looks = 1; atomic_load_explicit(word, memory_order_acquire) < value; looks++)
        if (looks % 10000 == 0)
            sched_yield();
}

static void flag_ping_pong(long n)
{
    for (long i = 0; i < n && (me == 0 || me == pairs); i++) {
        count++;
        if (follows)
            spin_until(mine, count);
        atomic_store_explicit(theirs, count, memory_order_release);
        if (leads)
            spin_until(mine, count);
    }
}

static int flag_arrived(unsigned seed, long n)
{
    return (void)seed, (void)n, (me != 0 && me != pairs) || atomic_load(mine) == count;
}

static int connection = -1;

static void transfer(ssize_t (*call)(int, char *, size_t), char *at, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t done = call(connection, at, bytes);
        if (done <= 0)
            give_up("the bare TCP connection broke");
        at += done;
        bytes -= (size_t)done;
    }
}
static ssize_t sending(int to, char *at, size_t bytes) { return send(to, at, bytes, MSG_NOSIGNAL); }
/* Polls for a while, as libraries do. */
static ssize_t receiving(int from, char *at, size_t bytes)
{
    for (int looks = 0; looks < 2000; looks++) {
        const ssize_t done = recv(from, at, bytes, MSG_DONTWAIT);
        if (done >= 0)
            return done;
    }
    return recv(from, at, bytes, 0);
}

static void socket_ping_pong(long n)
{
    for (long i = 0; i < n && (me == 0 || me == pairs); i++) {
        if (leads)
            transfer(sending, source, size);
        transfer(receiving, dest, size);
        if (follows)
            transfer(sending, source, size);
    }
}

enum { WINDOW = 64 };

/* A window of blocks in one direction, and one byte back. */
static void socket_stream(long n)
{
    for (long i = 0; i < n && (me == 0 || me == pairs); i++) {
        for (int block = 0; block < WINDOW; block++)
            leads ? transfer(sending, source, size) : transfer(receiving, dest, size);
        char done = 1;
        leads ? transfer(receiving, &done, 1) : transfer(sending, &done, 1);
    }
}

static int both_arrived(unsigned seed, long n) { return (void)n, (me != 0 && me != pairs) || is_filled(dest, size, seed, 0, 0); }
static int one_arrived(unsigned seed, long n) { return (void)n, me != pairs || is_filled(dest, size, seed, 0, 0); }

/* Connects the first pair; the second PE listens. Everything else is done by both. */
static void connect_pair(void)
{
    static long port;
    static char host[256];
    const int one = 1;
    struct sockaddr_storage address = {0};
    struct sockaddr_in6 *any = (struct sockaddr_in6 *)&address;
    socklen_t length = sizeof *any;
    int listener = -1;
    if (me == pairs) {
        any->sin6_family = AF_INET6;
        listener = socket(AF_INET6, SOCK_STREAM, 0);
        if (listener < 0) {
            struct sockaddr_in *old = (struct sockaddr_in *)&address;
            old->sin_family = AF_INET;
            length = sizeof *old;
            listener = socket(AF_INET, SOCK_STREAM, 0);
        }
        if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
            getsockname(listener, (struct sockaddr *)&address, &length))
            give_up("no TCP port can be opened");
        gethostname(host, sizeof host - 1);
        shmem_long_p(&port, ntohs(address.ss_family == AF_INET6 ? any->sin6_port : ((struct sockaddr_in *)&address)->sin_port), 0);
        shmem_putmem(host, host, sizeof host, 0);
    }
    shmem_barrier_all();
    if (me == 0) {
        char own[256] = "", number[16];
        gethostname(own, sizeof own - 1);
        snprintf(number, sizeof number, "%ld", port);
        struct addrinfo hint = {.ai_socktype = SOCK_STREAM}, *found = NULL;
        getaddrinfo(strcmp(own, host) ? host : "localhost", number, &hint, &found);
        for (struct addrinfo *at = found; at && connection < 0; at = at->ai_next) {
            const int way = socket(at->ai_family, SOCK_STREAM, 0);
            if (way >= 0 && connect(way, at->ai_addr, at->ai_addrlen) == 0)
                connection = way;
            else
                close(way);
        }
        if (found)
            freeaddrinfo(found);
        port = connection >= 0;
        shmem_long_p(&port, connection >= 0, pairs);
    }
    shmem_barrier_all();
    if (me == pairs && port == 1)
        connection = accept(listener, NULL, NULL);
    if (listener >= 0)
        close(listener);
    if (connection >= 0)
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (int pe = 0; me == pairs && pe < npes; pe++)
        shmem_long_p(&port, connection >= 0, pe);
    shmem_barrier_all();
    if (!port)
        connection = -1;
}

void limits(void)
{
    source = symmetric(largest());
    dest = symmetric(largest());
    mine = symmetric(sizeof *mine);
    for (int i = 0; i < size_count; i++) {
        size = sizes[i];
        measure(&(struct row){"memcpy", "limit", size, FIRST, copy, 1, clear, copied, 0, 1});
    }
    if (pairs == 0)
        return;
    /* The first pair decides, and all PEs take the same branch. */
    static long near;
    theirs = shmem_ptr(mine, partner);
    for (int pe = 0; me == 0 && pe < npes; pe++)
        shmem_long_p(&near, theirs != NULL, pe);
    shmem_barrier_all();
    if (near) {
        measure(&(struct row){"loads and stores", "limit", 8, FIRST, flag_ping_pong, 2, 0, flag_arrived, 0, 0});
        return;
    }
    connect_pair();
    static long connected;
    for (int pe = 0; me == 0 && pe < npes; pe++)
        shmem_long_p(&connected, connection >= 0, pe);
    shmem_barrier_all();
    for (int i = 0; connected && i < size_count; i++) {
        size = sizes[i];
        measure(&(struct row){"bare TCP", "limit", size, FIRST, socket_ping_pong, 2, clear, both_arrived, 0, 0});
        measure(&(struct row){"bare TCP stream", "limit", size, FIRST, socket_stream, WINDOW, clear, one_arrived, 0, 1});
    }
    if (connection >= 0)
        close(connection);
}
