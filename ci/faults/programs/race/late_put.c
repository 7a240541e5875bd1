/* `late_put FILE`: a put that comes after another PE's load. A file orders them, of which the detector knows nothing.
   `late_put FILE update`: the load is a get, as in a program that updates a variable by both.
   `late_put FILE exit STATUS`: the same, and the PE that puts, and so finds the race, ends the job. */
#include <fcntl.h>
#include <shmem.h>
#include <stdlib.h>
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
        if (argc > 3)
            shmem_global_exit(atoi(argv[3]));
    }
    shmem_finalize();
    return 0;
}
