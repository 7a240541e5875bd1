/* Prints the bits of sums of 10,001 numbers of mixed magnitude, one a line: the sum, which all PEs must have alike, and the
 * two prefix sums of the last PE. */
#include <shmem.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 10001 };

static double numbers[COUNT], sums[COUNT], theirs[COUNT];

/* PE 0 prints the sums of another PE. */
static void print(int pe)
{
    shmem_barrier_all();
    shmem_getmem(theirs, sums, sizeof sums, pe);
    for (int i = 0; shmem_my_pe() == 0 && i < COUNT; i++) {
        uint64_t bits;
        memcpy(&bits, &theirs[i], sizeof bits);
        printf("%016" PRIx64 "\n", bits);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe();
    /* Neighbours differ by up to 2^40, so another order of the operands rounds differently. */
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (double)(UINT64_C(1) << (i * 13 + me * 29) % 41) / (3 + 7 * i + 11 * me);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, numbers, COUNT);
    print(0);
    if (memcmp(theirs, sums, sizeof sums)) {
        fprintf(stderr, "PE %d has other bits than PE 0\n", me);
        shmem_global_exit(1);
    }
    const int last = shmem_n_pes() - 1;
    shmem_double_sum_inscan(SHMEM_TEAM_WORLD, sums, numbers, COUNT);
    print(last);
    shmem_double_sum_exscan(SHMEM_TEAM_WORLD, sums, numbers, COUNT);
    print(last);
    shmem_finalize();
    return 0;
}
