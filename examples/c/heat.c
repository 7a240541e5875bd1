/* Heat spreads over a plate that a grid of PEs shares. Each PE has a block of the plate with a border of cells that belong to its
 * neighbours; it puts its own edge into their borders and tells them with a signal. The rows and columns of the grid are teams. */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 64, STEPS = 400 }; /* cells of a block in each direction */

enum side { WEST, EAST, NORTH, SOUTH };

#define AT(block, row, column) ((block)[(row) * (CELLS + 2) + (column)])

static uint64_t arrived[4]; /* steps whose border has come, for each side */
static double change, largest;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), width = 1;
    for (int w = 1; w * w <= n; w++)
        if (n % w == 0)
            width = w;

    shmem_team_t row, column;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column);
    int x = shmem_team_my_pe(row), y = shmem_team_my_pe(column), height = shmem_team_n_pes(column);
    int neighbour[4] = {x > 0 ? me - 1 : -1, x + 1 < width ? me + 1 : -1, y > 0 ? me - width : -1,
                        y + 1 < height ? me + width : -1};

    size_t bytes = (CELLS + 2) * (CELLS + 2) * sizeof(double);
    double *now = shmem_malloc(bytes), *next = shmem_malloc(bytes);
    if (!now || !next)
        shmem_global_exit(1);
    for (int i = 0; i < (CELLS + 2) * (CELLS + 2); i++)
        now[i] = next[i] = 0;
    /* The west edge of the whole plate is hot. */
    if (x == 0)
        for (int r = 0; r < CELLS + 2; r++)
            AT(now, r, 0) = AT(next, r, 0) = 100;
    shmem_barrier_all();

    for (uint64_t step = 1; step <= STEPS; step++) {
        double edge[2][CELLS];
        for (int r = 0; r < CELLS; r++) {
            edge[WEST][r] = AT(now, r + 1, 1);
            edge[EAST][r] = AT(now, r + 1, CELLS);
        }
        /* My western edge is the eastern border of my western neighbour, and so on. Columns lie scattered, so they are strided. */
        if (neighbour[WEST] >= 0) {
            shmem_double_iput(&AT(now, 1, CELLS + 1), edge[WEST], CELLS + 2, 1, CELLS, neighbour[WEST]);
            shmem_fence();
            shmem_uint64_atomic_add(&arrived[EAST], 1, neighbour[WEST]); /* after the data, because of the fence */
        }
        if (neighbour[EAST] >= 0) {
            shmem_double_iput(&AT(now, 1, 0), edge[EAST], CELLS + 2, 1, CELLS, neighbour[EAST]);
            shmem_fence();
            shmem_uint64_atomic_add(&arrived[WEST], 1, neighbour[EAST]);
        }
        /* Rows lie together: one call carries data and signal. */
        if (neighbour[NORTH] >= 0)
            shmem_double_put_signal(&AT(now, CELLS + 1, 1), &AT(now, 1, 1), CELLS, &arrived[SOUTH], 1, SHMEM_SIGNAL_ADD,
                                    neighbour[NORTH]);
        if (neighbour[SOUTH] >= 0)
            shmem_double_put_signal(&AT(now, 0, 1), &AT(now, CELLS, 1), CELLS, &arrived[NORTH], 1, SHMEM_SIGNAL_ADD,
                                    neighbour[SOUTH]);
        for (int side = 0; side < 4; side++)
            if (neighbour[side] >= 0)
                shmem_uint64_wait_until(&arrived[side], SHMEM_CMP_GE, step); /* signals and atomics alike */

        change = 0;
        for (int r = 1; r <= CELLS; r++)
            for (int c = 1; c <= CELLS; c++) {
                AT(next, r, c) = 0.25 * (AT(now, r - 1, c) + AT(now, r + 1, c) + AT(now, r, c - 1) + AT(now, r, c + 1));
                change = fmax(change, fabs(AT(next, r, c) - AT(now, r, c)));
            }
        double *swap = now;
        now = next;
        next = swap;
        /* The signals of two steps must not overtake each other. */
        shmem_sync_all();
    }
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &largest, &change, 1);
    if (me == 0)
        printf("%d steps, the last one changed a cell by at most %.6f\n", STEPS, largest);

    shmem_free(next);
    shmem_free(now);
    shmem_team_destroy(column);
    shmem_team_destroy(row);
    shmem_finalize();
    return 0;
}
