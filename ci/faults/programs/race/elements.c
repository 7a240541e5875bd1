/* All PEs write the same elements of PE 0: of an array of arrays, of one of structures, of a block of the heap. */
#include <shmem.h>

struct cell {
    long heat, mass;
};

static int grid[3][4];
static struct cell cells[5];

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    long *block = shmem_malloc(8 * sizeof *block);
    shmem_int_p(&grid[1][2], me, 0);
    shmem_long_p(&cells[3].mass, me, 0);
    shmem_long_p(&block[2], me, 0);
    shmem_finalize();
    return 0;
}
