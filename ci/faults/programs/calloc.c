/* The first allocation of a job takes the turn for memory. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    long *block = shmem_calloc(10, sizeof *block);
    if (shmem_my_pe() == 0)
        printf("done\n");
    shmem_free(block);
    shmem_finalize();
    return 0;
}
