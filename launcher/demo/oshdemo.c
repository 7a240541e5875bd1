/* What oxshmem is for, on as many PEs as it is started with: `oshrun -n 4 --demo`.
 *
 * Each PE puts to its neighbour, the PEs find their maximum, and a team of all is split into the rows and columns of a
 * grid, whose members find theirs. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

/* Static variables are symmetric: every PE can reach every other PE's copy. */
static int from_neighbour;
static long source, result, sync_array[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static char line[256];

/* Lets PE 0 print one line of every PE, in order. */
static void print_in_order(const char *text)
{
    strncpy(line, text, sizeof line - 1);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        for (int pe = 0; pe < shmem_n_pes(); pe++) {
            char theirs[sizeof line];
            shmem_getmem(theirs, line, sizeof line, pe);
            puts(theirs);
        }
        fflush(stdout);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    char text[sizeof line];

    if (me == 0)
        printf("%s on %d PEs\n\n1. Every PE puts its number to the next one.\n", SHMEM_VENDOR_STRING, pes);
    shmem_int_p(&from_neighbour, me, (me + 1) % pes);
    shmem_barrier_all();
    snprintf(text, sizeof text, "   PE %d got %d", me, from_neighbour);
    print_in_order(text);

    if (me == 0)
        puts("\n2. shmem_long_max_to_all finds the largest of 10, 13, 16, ...");
    source = 10 + 3 * me;
    shmem_barrier_all();
    shmem_long_max_to_all(&result, &source, 1, 0, 0, pes, work, sync_array);
    snprintf(text, sizeof text, "   PE %d gave %ld, the maximum is %ld", me, source, result);
    print_in_order(text);

    if (me == 0)
        puts("\n3. shmem_team_split_2d makes rows of 2; each row and column finds its maximum.");
    shmem_team_t row, column;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column);
    static long row_max, column_max;
    shmem_long_max_reduce(row, &row_max, &source, 1);
    shmem_long_max_reduce(column, &column_max, &source, 1);
    snprintf(text, sizeof text, "   PE %d is at x %d, y %d: row maximum %ld, column maximum %ld", me,
             shmem_team_my_pe(row), shmem_team_my_pe(column), row_max, column_max);
    print_in_order(text);
    shmem_team_destroy(row);
    shmem_team_destroy(column);

    if (me == 0)
        puts("\n4. shmemx_team_split_strided makes a team of the even PEs, without the others.");
    shmem_team_t even = SHMEM_TEAM_NULL;
    if (me % 2 == 0)
        shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, &even);
    if (even == SHMEM_TEAM_NULL)
        snprintf(text, sizeof text, "   PE %d is not in it", me);
    else
        snprintf(text, sizeof text, "   PE %d is its PE %d of %d", me, shmem_team_my_pe(even), shmem_team_n_pes(even));
    print_in_order(text);
    if (even != SHMEM_TEAM_NULL)
        shmemx_team_destroy(&even);

    shmem_finalize();
    return 0;
}
