/* Bodies that attract each other. Every PE moves its own; the positions of all are collected once a step. The momentum of the whole
 * stays zero, which proves that every force was counted on both sides. */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 64, STEPS = 20 }; /* bodies of each PE */

static double position[3 * BODIES], velocity[3 * BODIES];
static double momentum[3], whole[3];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), bodies = BODIES * n;
    double *all = shmem_malloc(3 * sizeof *all * (size_t)bodies);
    if (!all)
        shmem_global_exit(1);
    for (int i = 0; i < 3 * BODIES; i++)
        position[i] = sin(1.0 + i + 1000.0 * me) * 10;

    for (int step = 0; step < STEPS; step++) {
        shmem_double_fcollect(SHMEM_TEAM_WORLD, all, position, 3 * BODIES);
        for (int i = 0; i < BODIES; i++) {
            double force[3] = {0, 0, 0};
            for (int j = 0; j < bodies; j++) {
                double away[3], square = 0.01; /* softened, so that close bodies do no harm */
                for (int k = 0; k < 3; k++) {
                    away[k] = all[3 * j + k] - position[3 * i + k];
                    square += away[k] * away[k];
                }
                for (int k = 0; k < 3; k++)
                    force[k] += away[k] / (square * sqrt(square));
            }
            for (int k = 0; k < 3; k++)
                velocity[3 * i + k] += 0.001 * force[k];
        }
        for (int i = 0; i < 3 * BODIES; i++)
            position[i] += 0.001 * velocity[i];
        shmem_team_sync(SHMEM_TEAM_WORLD); /* nobody overwrites what another still reads */
    }
    for (int i = 0; i < 3 * BODIES; i++)
        momentum[i % 3] += velocity[i];
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, whole, momentum, 3);
    if (fabs(whole[0]) + fabs(whole[1]) + fabs(whole[2]) > 1e-9)
        shmem_global_exit(2);
    if (me == 0)
        printf("%d bodies, %d steps, the momentum is still zero\n", bodies, STEPS);
    shmem_free(all);
    shmem_finalize();
    return 0;
}
