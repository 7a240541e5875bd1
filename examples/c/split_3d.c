/* A box of PEs: two splits in two dimensions make the teams of all three axes, as the standard's own example does. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), x = n % 3 == 0 ? 3 : 2, y = 2;

    shmem_team_t x_axis, plane, y_axis, z_axis;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, x, NULL, 0, &x_axis, NULL, 0, &plane) != 0)
        shmem_global_exit(1);
    if (shmem_team_split_2d(plane, y, NULL, 0, &y_axis, NULL, 0, &z_axis) != 0)
        shmem_global_exit(1);

    int right = shmem_team_my_pe(x_axis) == me % x && shmem_team_my_pe(y_axis) == me / x % y &&
                shmem_team_my_pe(z_axis) == me / x / y;
    if (!right)
        shmem_global_exit(2);

    shmem_team_destroy(z_axis);
    shmem_team_destroy(y_axis);
    shmem_team_destroy(plane);
    shmem_team_destroy(x_axis);
    if (me == 0)
        printf("%d PEs, each at its place in a box of %d by %d by %d\n", n, x, y, (n + x * y - 1) / (x * y));
    shmem_finalize();
    return 0;
}
