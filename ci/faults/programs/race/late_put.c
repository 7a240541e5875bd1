/* `late_put FILE`: a put that comes after another PE's load. A file orders them, of which the detector knows nothing.
   `late_put FILE update`: the load is a get, as in a program that updates a variable by both. */
#include <fcntl.h>
#include <shmem.h>
#include <unistd.h>

static long data;
static volatile long sink;

int main(int argc, char **argv)
{
    shmem_init();
    if (shmem_my_pe() == 1) {
        sink = argc > 2 ? shmem_long_g(&data, 1) : data;
        close(creat(argv[1], 0600));
    } else {
        while (access(argv[1], F_OK) != 0)
            usleep(1000);
        shmem_long_p(&data, 1, 1);
    }
    shmem_finalize();
    return 0;
}
