/* Broadcasts of rows of a grid are under way while those of columns run, whose lengths differ from column to column. On four PEs. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT 512

static long source[COUNT], row[COUNT], column[COUNT];

static void expect(const long *array, int count, long value)
{
    for (int i = 0; i < count; i++)
        if (array[i] != value) {
            printf("PE %d: element %d is %ld instead of %ld\n", shmem_my_pe(), i, array[i], value);
            exit(3);
        }
}

int main(void)
{
    shmem_team_t rows, columns;
    shmem_req_h request;
    struct timespec nap = {3, 0};
    shmem_init();
    int me = shmem_my_pe(), x = me % 2, y = me / 2, count = x ? COUNT / 2 : COUNT;
    for (int i = 0; i < COUNT; i++) source[i] = me;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &rows, NULL, 0, &columns);
    /* The roots of the rows go on into their column, the others come to their row later. */
    if (x == 0) shmemx_long_broadcast_nb(rows, row, source, COUNT, 0, &request);
    if (y == 1) nanosleep(&nap, NULL);
    shmem_long_broadcast(columns, column, source, (size_t)count, 0);
    if (x == 1) shmemx_long_broadcast_nb(rows, row, source, COUNT, 0, &request);
    shmem_req_wait(&request);
    expect(row, COUNT, 2 * y);
    expect(column, count, x);
    shmem_barrier_all();
    if (me == 0) puts("done");
    shmem_finalize();
    return 0;
}
