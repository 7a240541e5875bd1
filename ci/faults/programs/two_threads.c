/* Two threads of each PE wait in the library at once, at the level that the first argument names by its number. */
#include <pthread.h>
#include <shmem.h>
#include <stdlib.h>

static int never;

static void *wait_for_all(void *unused) {
    (void)unused;
    shmem_barrier_all();
    return NULL;
}

static void *wait_for_a_value(void *unused) {
    (void)unused;
    shmem_int_wait_until(&never, SHMEM_CMP_EQ, 1);
    return NULL;
}

int main(int argc, char **argv) {
    int provided, level = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t threads[2];
    shmem_init_thread(level, &provided);
    /* PE 0 keeps the others waiting in their barrier, and waits itself for what only they could store. */
    pthread_create(&threads[0], NULL, wait_for_a_value, NULL);
    if (shmem_my_pe() > 0) pthread_create(&threads[1], NULL, wait_for_all, NULL);
    pthread_join(threads[0], NULL);
    shmem_finalize();
    return 0;
}
