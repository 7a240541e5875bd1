// Headers of C inside of extern "C", as programs include those that do not say it themselves.
extern "C" {
#include <shmem.h>
#include <shmemx.h>
#include <pshmem.h>
}

static double number;
static long cell;

int main()
{
    shmem_init();
    long value = 5;
    shmem_p(&number, 2.5, shmem_my_pe());
    shmem_put(&cell, &value, 1, shmem_my_pe());
    shmem_sync(SHMEM_TEAM_WORLD);
    const bool wrong = shmem_g(&number, shmem_my_pe()) != 2.5 || cell != 5;
    shmem_finalize();
    return wrong;
}
