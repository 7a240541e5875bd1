/* The largest element at each place of an array, over all PEs: first by an active set with the arrays that the older interface
 * asks for, then by a team. Both give the same. */
#include <shmem.h>
#include <stdio.h>

enum { N = 1000 };

static int source[N], by_set[N], by_team[N];
static int work[N / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? N / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync[SHMEM_REDUCE_SYNC_SIZE];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < N; i++)
        source[i] = (i * 31 + me * 17) % 1009;
    shmem_barrier_all(); /* everybody's sync is ready */

    shmem_int_max_to_all(by_set, source, N, 0, 0, n, work, sync);
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, by_team, source, N);

    int wrong = 0;
    for (int i = 0; i < N; i++) {
        int largest = 0;
        for (int pe = 0; pe < n; pe++) {
            int value = (i * 31 + pe * 17) % 1009;
            largest = value > largest ? value : largest;
        }
        wrong += by_set[i] != largest || by_team[i] != largest;
    }
    if (wrong)
        shmem_global_exit(1);
    if (me == 0)
        printf("%d maxima over %d PEs are right\n", N, n);
    shmem_finalize();
    return 0;
}
