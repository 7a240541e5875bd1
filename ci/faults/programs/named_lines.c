/* Mistakes whose message names the line; the first argument says which. Each stands in a line with its name behind it. */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

static long numbers[8], many[20], copies[20], lock;

static int is(const char *word, const char *mistake)
{
    return strcmp(word, mistake) == 0;
}

int main(int count, char **words)
{
    const char *mistake = count > 1 ? words[1] : "";
    if (is("early", mistake)) shmem_barrier_all(); /* early */
    shmem_init();
    int me = shmem_my_pe();
    long *block = shmem_malloc(80), private = 0;
    if (is("no PE", mistake)) shmem_long_p(block, 1, 7); /* no PE */
    if (is("private", mistake)) shmem_long_p(&private, 1, 1); /* private */
    if (is("past", mistake)) shmem_long_put(block, numbers, 1 << 20, 1); /* past */
    if (is("misaligned", mistake)) shmem_long_atomic_inc((long *)((char *)block + 1), 0); /* misaligned */
    if (is("sizes", mistake)) block = shmem_malloc(me ? 8 : 800); /* sizes */
    if (is("team", mistake)) shmem_team_sync((shmem_team_t)SHMEM_TEAM_INVALID + 77); /* team */
    if (is("cmp", mistake)) shmem_long_wait_until(block, 99, 1); /* cmp */
    if (is("unlocked", mistake)) shmem_clear_lock(&lock); /* unlocked */
    if (is("root", mistake)) shmem_long_broadcast(SHMEM_TEAM_WORLD, block, numbers, 1, 9); /* root */
    if (is("roots", mistake)) shmem_long_broadcast(SHMEM_TEAM_WORLD, copies, many, 20, me); /* roots */
    if (is("alignment", mistake)) block = shmem_align(3, 8); /* alignment */
    shmem_free(block);
    if (is("freed", mistake)) shmem_free(block); /* freed */
    shmem_finalize();
    if (is("late", mistake)) shmem_barrier_all(); /* late */
    return 0;
}
