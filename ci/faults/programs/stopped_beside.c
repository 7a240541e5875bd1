/* One thread of PE 0 has thousands of puts or gets under way to PE 3, which is stopped. Another one puts to PE 1, by a context of its own, and
 * then lets PE 3 go on. `strided`: the thread that has a put under way to PE 3 gets from PE 1, by the same context. `one_get`, `one_fetch`: one
 * thread waits for a number of PE 3, the other one puts to PE 1 and fetches from it, both by the same context.
 *
 * usage: stopped_beside puts|gets|strided|one_get|one_fetch, with 4 PEs on as many nodes */
#include <shmem.h>
#include "stopped_process.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPERATIONS = 2000, BYTES = 65536, PUTS = 50, ELEMENTS = 40 };

static long pid, word, row[2 * ELEMENTS];
static char block[BYTES];
static int gets;

static void *fill(void *nothing)
{
    (void)nothing;
    static char local[BYTES];
    for (int i = 0; i < OPERATIONS; i++)
        if (gets)
            shmem_getmem_nbi(local, block, BYTES, 3);
        else
            shmem_putmem_nbi(block, local, BYTES, 3);
    shmem_quiet();
    return NULL;
}

static void *get_one(void *nothing)
{
    if (shmem_long_g(&word, 3) != 3)
        puts("the get brings another number");
    return nothing;
}

static void *fetch_one(void *nothing)
{
    if (shmem_long_atomic_fetch_inc(&word, 3) != 3)
        puts("the fetch brings another number");
    return nothing;
}

static void put_beside(shmem_ctx_t ctx)
{
    const int beside = 1;
    /* By then the other thread has no room, or waits for long. */
    usleep(200000);
    for (long i = 1; i <= PUTS; i++) {
        shmem_ctx_long_p(ctx, &word, i, beside);
        shmem_ctx_putmem(ctx, block, block, BYTES, beside);
        shmem_ctx_pe_quiet(ctx, &beside, 1);
        if (shmem_ctx_long_g(ctx, &word, beside) != i || shmem_ctx_long_atomic_fetch(ctx, &word, beside) != i)
            puts("a put is missing");
    }
}

static void put_beside_by_own_context(void)
{
    shmem_ctx_t own;
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED, &own) != 0)
        shmem_global_exit(1);
    put_beside(own);
    shmem_ctx_destroy(own);
}

static void get_behind_a_put(void)
{
    long got[3 * ELEMENTS];
    shmem_putmem_nbi(block, block, BYTES, 3);
    shmem_long_iget(got, row, 3, 2, ELEMENTS, 1);
    for (long i = 0; i < ELEMENTS; i++)
        if (got[3 * i] != 100 + 2 * i)
            puts("an element is wrong");
}

int main(int count, char **arguments)
{
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE)
        return 1;
    const char *form = count > 1 ? arguments[1] : "puts";
    gets = strcmp(form, "gets") == 0;
    const int is_strided = strcmp(form, "strided") == 0, is_one = strncmp(form, "one_", 4) == 0;
    void *(*work)(void *) = !is_one ? fill : strcmp(form, "one_get") == 0 ? get_one : fetch_one;
    word = shmem_my_pe();
    for (long i = 0; i < 2 * ELEMENTS; i++)
        row[i] = 100 * shmem_my_pe() + i;
    int me = shmem_my_pe();
    if (me == 0) {
        shmem_long_atomic_fetch(&word, 1);
        shmem_long_atomic_fetch(&word, 3);
        /* UCX learns where the block is before PE 3 stops: a blocking put of this length is a message over TCP. */
        shmem_putmem_nbi(block, block, BYTES, 3);
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 3) {
        shmem_long_p(&pid, (long)getpid(), 0);
        shmem_quiet();
        raise(SIGSTOP);
    } else if (me == 0) {
        shmem_long_wait_until(&pid, SHMEM_CMP_NE, 0);
        wait_until_stopped(pid);
        pthread_t other;
        if (is_strided)
            get_behind_a_put();
        else if (pthread_create(&other, NULL, work, NULL) != 0)
            abort();
        else if (is_one)
            put_beside(SHMEM_CTX_DEFAULT);
        else
            put_beside_by_own_context();
        kill((pid_t)pid, SIGCONT);
        if (!is_strided)
            pthread_join(other, NULL);
        puts("all right");
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
