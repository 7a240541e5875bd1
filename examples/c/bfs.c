/* Breadth-first search. Vertices are dealt to the PEs in turn; a PE that finds a neighbour claims it with a compare-and-swap on the
 * word of its distance, and writes it into the owner's list for the next level. The graph is a cube of DIMENSIONS dimensions, whose
 * distances are known: the number of bits that are set. */
#include <shmem.h>
#include <stdio.h>

enum { DIMENSIONS = 14, VERTICES = 1 << DIMENSIONS };

static int distance[VERTICES];  /* of vertex v at place v / n on PE v % n */
static int list[2][VERTICES];   /* my vertices of this level and of the next */
static long length[2];
static long here, everywhere;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < VERTICES; i++)
        distance[i] = -1;
    if (me == 0) {
        distance[0] = 0;
        list[0][length[0]++] = 0;
    }
    shmem_barrier_all();

    int level = 0;
    for (;; level++) {
        int now = level % 2, then = 1 - now;
        here = length[now];
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &everywhere, &here, 1);
        if (everywhere == 0)
            break;
        for (long i = 0; i < here; i++)
            for (int bit = 0; bit < DIMENSIONS; bit++) {
                int vertex = list[now][i] ^ (1 << bit), owner = vertex % n;
                if (shmem_int_atomic_compare_swap(&distance[vertex / n], -1, level + 1, owner) == -1) {
                    long room = shmem_long_atomic_fetch_inc(&length[then], owner);
                    shmem_int_p(&list[then][room], vertex, owner);
                }
            }
        length[now] = 0; /* nobody adds to this list before the next barrier */
        shmem_barrier_all();
    }
    for (int vertex = me; vertex < VERTICES; vertex += n)
        if (distance[vertex / n] != __builtin_popcount((unsigned)vertex))
            shmem_global_exit(1);
    if (me == 0)
        printf("%d vertices in %d levels\n", VERTICES, level);
    shmem_finalize();
    return 0;
}
