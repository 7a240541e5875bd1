/* PE 0 waits for what never comes; PE 1 knows that it is about to, and dies. */
#include <shmem.h>
#include <signal.h>
#include <unistd.h>

static long here, never;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_long_p(&here, 1, 1);
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    } else {
        shmem_long_wait_until(&here, SHMEM_CMP_NE, 0);
        sleep(2);
        raise(SIGKILL);
    }
    shmem_finalize();
    return 0;
}
