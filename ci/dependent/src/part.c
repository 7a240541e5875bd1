/* The part in C: the maximum over all PEs, in one job from init to finalize. */
#include <shmem.h>
#include <stdio.h>

int part(void);

int part(void)
{
    static int mine, largest;
    shmem_init();
    mine = shmem_my_pe() + 1;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &largest, &mine, 1);
    int wrong = largest != shmem_n_pes();
    if (shmem_my_pe() == 0)
        printf("the largest of %d numbers is %d\n", shmem_n_pes(), largest);
    shmem_finalize();
    return wrong;
}
