/* A transfer that begins behind a static array, and a collect whose blocks need more than the destination has. */
#include <shmem.h>
#include <string.h>

/* Compilers align arrays to 16 bytes at least. So the first one has a gap behind it, and the others lie one behind the other. */
static int few[10], even[16], guard[16], source[16];

int main(int count, char **words)
{
    const char *mistake = count > 1 ? words[1] : "";
    shmem_init();
    if (!strcmp(mistake, "behind")) {
        shmem_int_p(few + 10, 1, 0);
    } else if (!strcmp(mistake, "collect")) {
        shmem_int_collect(SHMEM_TEAM_WORLD, even, source, 8);
        shmem_int_put(guard, source, 16, 0);
    } else {
        shmem_int_put(few, source, 10, 0);
        shmem_int_put(even, source, 16, 0);
        shmem_int_put(guard, source, 16, 0);
        shmem_int_get(source, even + 15, 1, 0);
    }
    shmem_finalize();
    return 0;
}
