/* Threads of PE 1 meet PE 0 by active sets of two, and all but one have come before PE 0 does. It meets the thread that comes last before
 * the others. Meanwhile as many sets of other PEs as may wait for their members wait for PE 5, which comes when PE 0 has met once. */
#include <pthread.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* One more than a table of meetings has places, and a quarter of them. */
enum { EARLY = 129, HELD = 32 };

static long early[EARLY][SHMEM_BARRIER_SYNC_SIZE], held[2][HELD][SHMEM_BARRIER_SYNC_SIZE];
static long go;

static void *come(void *number)
{
    const intptr_t i = (intptr_t)number;
    if (i == EARLY - 1)
        sleep(4);
    shmem_sync(0, 0, 2, early[i]);
    return NULL;
}

/* PE 3 or 4 with PE 5. */
static void meet_the_last(int first, int i) { shmem_sync(first, first == 3, 2, held[first - 3][i]); }

static void *hold(void *number)
{
    meet_the_last(shmem_my_pe(), (int)(intptr_t)number);
    return NULL;
}

static void in_threads(void *(*work)(void *), int count)
{
    pthread_t threads[EARLY];
    for (intptr_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            shmem_global_exit(2);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    const int me = shmem_my_pe();
    for (int i = 0; i < EARLY * SHMEM_BARRIER_SYNC_SIZE; i++)
        early[i / SHMEM_BARRIER_SYNC_SIZE][i % SHMEM_BARRIER_SYNC_SIZE] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < 2 * HELD * SHMEM_BARRIER_SYNC_SIZE; i++)
        held[i / SHMEM_BARRIER_SYNC_SIZE / HELD][i / SHMEM_BARRIER_SYNC_SIZE % HELD][i % SHMEM_BARRIER_SYNC_SIZE] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    if (me == 0) {
        sleep(6);
        shmem_sync(0, 0, 2, early[EARLY - 1]);
        shmem_long_p(&go, 1, 5);
        shmem_quiet();
        for (int i = 0; i < EARLY - 1; i++)
            shmem_sync(0, 0, 2, early[i]);
    } else if (me == 1) {
        sleep(2);
        in_threads(come, EARLY);
    } else if (me == 3 || me == 4) {
        in_threads(hold, HELD);
    } else if (me == 5) {
        shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
        for (int i = 0; i < 2 * HELD; i++)
            meet_the_last(3 + i / HELD, i % HELD);
    }
    shmem_barrier_all();
    if (me == 0)
        puts("all sets have met");
    shmem_finalize();
    return 0;
}
