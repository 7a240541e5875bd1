/* Random updates of a table that is spread over all PEs (giga updates per second), with atomics that return nothing. Applying every
 * update twice brings the table back, which proves that none was lost. */
#include <shmem.h>
#include <stdio.h>
#include <time.h>

enum { WORDS = 1 << 14, UPDATES = 100000 }; /* words of each PE */

static uint64_t table[WORDS];
static long wrong, all_wrong;

static void update(int me, int n)
{
    uint64_t state = 0x9E3779B97F4A7C15u * (uint64_t)(me + 1);
    for (int i = 0; i < UPDATES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t place = state % ((uint64_t)WORDS * (uint64_t)n);
        shmem_uint64_atomic_xor(&table[place % WORDS], state, (int)(place / WORDS));
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        table[i] = (uint64_t)i;
    shmem_barrier_all();

    struct timespec begin, end;
    timespec_get(&begin, TIME_UTC);
    update(me, n);
    update(me, n);
    timespec_get(&end, TIME_UTC);

    for (int i = 0; i < WORDS; i++)
        wrong += table[i] != (uint64_t)i;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
    if (all_wrong)
        shmem_global_exit(1);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    if (me == 0) {
        printf("no update was lost\n");
        fprintf(stderr, "%.4f GUPS\n", 2.0 * UPDATES * n / seconds * 1e-9);
    }
    shmem_finalize();
    return 0;
}
