/* A grid of PEs: shmem_team_split_2d makes a team of every row and of every column, and each finds its maximum. */
#include <shmem.h>
#include <stdio.h>

static int value, row_maximum, column_maximum;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), width = 1;
    while (width * width < n)
        width++;

    shmem_team_t row, column;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column) != 0)
        shmem_global_exit(1);

    value = 100 + me;
    shmem_int_max_reduce(row, &row_maximum, &value, 1);
    shmem_int_max_reduce(column, &column_maximum, &value, 1);

    /* The last PE of my row and the last one of my column. */
    int x = me % width, y = me / width;
    int last_of_row = (y + 1) * width <= n ? (y + 1) * width - 1 : n - 1;
    int last_of_column = x + (n - 1 - x) / width * width;
    if (row_maximum != 100 + last_of_row || column_maximum != 100 + last_of_column)
        shmem_global_exit(2);

    shmem_team_destroy(column);
    shmem_team_destroy(row);
    if (me == 0)
        printf("rows of at most %d PEs, every maximum is right\n", width);
    shmem_finalize();
    return 0;
}
