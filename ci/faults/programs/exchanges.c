/* Exchanges of blocks of different sizes: each PE sends 8 bytes to PE 0, 16 to PE 1, 24 to PE 2 and so on. */
#include <shmem.h>
#include <shmemx.h>
#include <stddef.h>

enum { MOST = 64 };

static long source[MOST * MOST], dest[MOST * MOST], sync_words[SHMEM_ALLTOALL_SYNC_SIZE];
static size_t from[MOST], sizes[MOST], to[MOST], got[MOST], total;
static int me, pes;

static int wrong_words(void)
{
    int wrong = 0;
    for (int pe = 0; pe < pes; pe++)
        for (int word = 0; word <= me; word++) {
            wrong += dest[pe * (me + 1) + word] != 100 * pe + 10 * me + word;
            dest[pe * (me + 1) + word] = -1;
        }
    shmem_barrier_all();
    return wrong;
}

int main(void)
{
    int wrong = 0, place = 0;
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (pes > MOST)
        shmem_global_exit(3);
    for (int pe = 0; pe < pes; pe++) {
        from[pe] = (size_t)place * sizeof(long);
        sizes[pe] = (size_t)(pe + 1) * sizeof(long);
        for (int word = 0; word <= pe; word++)
            source[place++] = 100 * me + 10 * pe + word;
        to[pe] = (size_t)(pe * (me + 1)) * sizeof(long);
    }
    for (size_t word = 0; word < SHMEM_ALLTOALL_SYNC_SIZE; word++)
        sync_words[word] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    shmemx_alltoallv(dest, to, got, source, from, sizes, 0, 0, pes, sync_words);
    wrong += wrong_words();
    shmemx_team_alltoallv(dest, to, got, source, from, sizes, SHMEM_TEAM_WORLD, sync_words);
    wrong += wrong_words();
    shmemx_team_alltoallv_packed(dest, sizeof dest, &total, source, from, sizes, SHMEM_TEAM_WORLD, sync_words);
    wrong += (int)total != pes * (me + 1) * (int)sizeof(long);
    shmem_finalize();
    return wrong != 0;
}
