/* A race that only some orders of the PEs show: the PE that draws the first ticket works without an order if it is the last PE.
   `right`: it works after a barrier. */
#include <shmem.h>
#include <string.h>

static long ticket, data;
static volatile long sink;

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1, right = argc > 1 && strcmp(argv[1], "right") == 0;
    long mine = me > 0 ? shmem_long_atomic_fetch_inc(&ticket, 0) : -1;
    if (right)
        shmem_barrier_all();
    if (mine == 0 && me == last)
        shmem_long_p(&data, 1, 0); /* race */
    if (right)
        shmem_barrier_all();
    if (me == 0)
        sink = data; /* race */
    shmem_finalize();
    return 0;
}
