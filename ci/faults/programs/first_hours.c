/* Mistakes of the first hour; the first argument says which. */
#include <shmem.h>
#include <string.h>

static long source[4], target[4], lock;

int main(int count, char **words)
{
    const char *mistake = count > 1 ? words[1] : "";
    shmem_init();
    if (!strcmp(mistake, "no room")) {
        long *block = shmem_malloc((size_t)1 << 45);
        *block = 1;
    } else if (!strcmp(mistake, "null")) {
        long *block = shmem_malloc((size_t)-1);
        shmem_long_p(block, 1, 0);
    } else if (!strcmp(mistake, "negative")) {
        shmem_putmem(target, source, (size_t)-1, 0);
    } else if (!strcmp(mistake, "lock twice")) {
        shmem_set_lock(&lock);
        shmem_set_lock(&lock);
    } else if (!strcmp(mistake, "past static")) {
        static long numbers[8], others[64];
        shmem_long_put(numbers, others, count > 2 ? 9 : 8, 0);
        shmem_long_put(others, others + 32, 32, 0);
    } else if (!strcmp(mistake, "calloc")) {
        shmem_free(shmem_calloc(100, 8));
    }
    shmem_finalize();
    return 0;
}
