/* PE 1 stands still in the middle of the job; PE 0 puts to it without an end, until no queue takes any more. */
#include <shmem.h>
#include <signal.h>

static char in[1 << 16], out[1 << 16];

int main(void)
{
    shmem_init();
    shmem_putmem(in, out, 8, 1 - shmem_my_pe());
    shmem_barrier_all();
    if (shmem_my_pe() == 1)
        raise(SIGSTOP);
    for (;;)
        shmem_putmem_nbi(in, out, sizeof in, 1);
}
