/* PE 1 copies into an array into which PE 0 has put a word, and no quiet has completed that. Only the run knows the length of the copy: with
   _FORTIFY_SOURCE another function than memcpy makes it. */
#include <shmem.h>
#include <string.h>

static long row[8];

int main(int argc, char **argv)
{
    long source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)argv;
    shmem_init();
    if (shmem_my_pe() == 0)
        shmem_long_p(row, 9, 1);
    shmem_sync_all();
    if (shmem_my_pe() == 1)
        memcpy(row, source, (size_t)argc * sizeof *source);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
