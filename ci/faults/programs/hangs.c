/* Says something and hangs. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0)
        printf("before the hang\n");
    for (;;)
        pause();
}
