/* Operations of oxshmem and the same ones of the bare library below it, in turns in one process. PE 0 measures; PE 1 serves both. Each
 * program of this folder has one library: it defines what is declared here as `bare`. */
#ifndef BESIDE_H
#define BESIDE_H

#define _POSIX_C_SOURCE 200809L
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of a short and of a long transfer, and how many nonblocking ones come before a quiet. */
enum { SHORT = 8, LONG = 4096, MANY = 64 };

/* What each operation does with the memory of PE 1. */
struct bare {
    const char *name;
    /* Opens the library on both PEs. `exchange` is collective: the bytes of the other PE come to `theirs`. */
    void (*open)(void *memory, size_t len);
    void (*put)(size_t len);
    void (*get)(size_t len);
    void (*fetch_add)(void);
    /* Issues so many puts, and completes them. */
    void (*puts)(int count, size_t len);
    /* Moves the library on. */
    void (*progress)(void);
};
extern const struct bare bare;

static inline void fail(const char *what, long code)
{
    printf("PE %d: %s of %s: %ld\n", shmem_my_pe(), what, bare.name, code);
    shmem_global_exit(1);
}

enum { MOST = 4096 };

/* The bytes of the other PE. */
static inline void exchange(const void *mine, void *theirs, size_t len)
{
    static char sent[MOST], received[MOST];
    if (len > MOST)
        fail("an address", (long)len);
    memcpy(sent, mine, len);
    shmem_barrier_all();
    shmem_putmem(received, sent, len, 1 - shmem_my_pe());
    shmem_barrier_all();
    memcpy(theirs, received, len);
}

#endif
