/* `levels LEVEL`: two threads call, one after another with a lock, or at any time (`levels LEVEL wrong`).
   `levels letter`: a source changes after an answer, `levels letter wrong`: before it. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static long source[8], target[8];
static uint64_t there, back;
static int wrong;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *call(void *at)
{
    if (!wrong)
        pthread_mutex_lock(&mutex);
    shmem_long_p(target + (intptr_t)at, 1, shmem_my_pe());
    if (!wrong)
        pthread_mutex_unlock(&mutex);
    return NULL;
}

static void letter(void)
{
    int me = shmem_my_pe();
    if (me == 0) {
        shmem_long_put_signal_nbi(target, source, 8, &there, 1, SHMEM_SIGNAL_SET, 1);
        if (!wrong)
            shmem_signal_wait_until(&back, SHMEM_CMP_EQ, 1);
        source[0] = 2;
    } else if (me == 1) {
        shmem_signal_wait_until(&there, SHMEM_CMP_EQ, 1);
        shmemx_signal_set(&back, 1, 0);
    }
}

int main(int argc, char **argv)
{
    int provided, is_letter = argc > 1 && strcmp(argv[1], "letter") == 0;
    wrong = argc > 2;
    shmem_init_thread(is_letter ? SHMEM_THREAD_MULTIPLE : atoi(argv[1]), &provided);
    if (is_letter)
        letter();
    else {
        pthread_t thread;
        pthread_create(&thread, NULL, call, (void *)1);
        call((void *)2);
        pthread_join(thread, NULL);
    }
    shmem_finalize();
    return 0;
}
