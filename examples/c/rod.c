/* Heat spreads along a rod that all PEs share. Each PE has a piece with one cell of border on either side; it puts its own ends into
 * its neighbours' borders. */
#include <math.h>
#include <shmem.h>
#include <stdio.h>

enum { CELLS = 100, STEPS = 500 };

static double now[CELLS + 2]; /* static variables are symmetric: every PE has one, and the others can reach it */
static double change, largest;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    double next[CELLS + 2];
    if (me == 0)
        now[0] = 100; /* one end of the rod is hot */
    shmem_barrier_all();

    for (int step = 1; step <= STEPS; step++) {
        if (me > 0)
            shmem_double_p(&now[CELLS + 1], now[1], me - 1);
        if (me < n - 1)
            shmem_double_p(&now[0], now[CELLS], me + 1);
        shmem_barrier_all(); /* all borders have come */
        change = 0;
        for (int i = 1; i <= CELLS; i++) {
            next[i] = 0.5 * (now[i - 1] + now[i + 1]);
            change = fmax(change, fabs(next[i] - now[i]));
        }
        shmem_barrier_all(); /* all PEs have read their borders */
        for (int i = 1; i <= CELLS; i++)
            now[i] = next[i];
    }

    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &largest, &change, 1);
    if (me == 0)
        printf("%d steps, the last one changed a cell by at most %.6f\n", STEPS, largest);
    shmem_finalize();
    return 0;
}
