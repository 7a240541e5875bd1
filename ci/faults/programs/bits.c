/* Prints the bits of the sum of 10,001 numbers of mixed magnitude, which all PEs must have alike.
 *
 * usage: bits        the numbers of PE 0 go to standard output, one a line */
#include <shmem.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 10001 };

static double numbers[COUNT], sums[COUNT], first[COUNT];

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    /* Neighbours differ by up to 2^40, so another order of the operands rounds differently. */
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (double)(UINT64_C(1) << (i * 13 + me * 29) % 41) / (3 + 7 * i + 11 * me);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, numbers, COUNT);
    shmem_barrier_all();
    shmem_getmem(first, sums, sizeof sums, 0);
    if (memcmp(first, sums, sizeof sums)) {
        fprintf(stderr, "PE %d has other bits than PE 0\n", me);
        shmem_global_exit(1);
    }
    for (int i = 0; me == 0 && i < COUNT; i++) {
        uint64_t bits;
        memcpy(&bits, &sums[i], sizeof bits);
        printf("%016" PRIx64 "\n", bits);
    }
    shmem_finalize();
    return 0;
}
