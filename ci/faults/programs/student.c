/* Mistakes of a first hour, one by its name. */
#include <shmem.h>
#include <shmemx.h>
#include <string.h>

static int target[8], source[8];
static const int constant = 3;
static long lock;
static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long sync_array[SHMEM_REDUCE_SYNC_SIZE];

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    uint64_t on_stack = 0;
    int private = 0, minus = -5;
    static uint64_t signal_word;
    shmem_team_t row, column;
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_array[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    if (!strcmp(name, "wait")) shmem_signal_wait_until(&on_stack, SHMEM_CMP_EQ, 1);
    if (!strcmp(name, "put")) shmem_int_put(target, NULL, 1, 0);
    if (!strcmp(name, "put signal")) shmem_int_put_signal(target, NULL, 1, &signal_word, 1, SHMEM_SIGNAL_SET, (me + 1) % pes);
    if (!strcmp(name, "fetch")) shmem_int_atomic_fetch_nbi(NULL, target, 0);
    if (!strcmp(name, "values")) shmem_int_wait_until_all_vector(target, 2, NULL, SHMEM_CMP_EQ, NULL);
    if (!strcmp(name, "indices")) shmem_int_test_some(target, 2, NULL, NULL, SHMEM_CMP_EQ, 0);
    if (!strcmp(name, "split")) shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &row, NULL, 0, NULL);
    if (!strcmp(name, "split of Cray")) shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL);
    if (!strcmp(name, "config")) shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, SHMEM_TEAM_NUM_CONTEXTS, &row);
    if (!strcmp(name, "config of a grid")) shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, SHMEM_TEAM_NUM_CONTEXTS, &column);
    if (!strcmp(name, "got config")) shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, NULL);
    if (!strcmp(name, "set")) shmem_int_max_to_all(target, source, 1, 0, 1, pes / 2, work, sync_array);
    if (!strcmp(name, "sync")) shmem_int_max_to_all(target, source, 1, 0, 0, pes, work, NULL);
    if (!strcmp(name, "lock")) shmem_set_lock(NULL);
    if (!strcmp(name, "long")) shmem_int_put(target, source, 1 << 28, (me + 1) % pes);
    if (!strcmp(name, "signal")) shmem_putmem_signal(target, source, 4, &on_stack, 1, SHMEM_SIGNAL_SET, 0);
    if (!strcmp(name, "signalled")) shmem_int_put_signal(&private, source, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
    if (!strcmp(name, "atomic")) shmem_int_atomic_inc(&private, 0);
    if (!strcmp(name, "get")) private = shmem_int_g(&private, 0);
    if (!strcmp(name, "constant")) private = shmem_int_g(&constant, 0);
    if (!strcmp(name, "static") && me == 0) shmem_int_p(target, 1, 0);
    if (!strcmp(name, "color")) shmemx_team_split(SHMEM_TEAM_WORLD, -32766, 0, &row);
    if (!strcmp(name, "member")) {
        int *nothing = shmem_malloc(0);
        shmem_int_put((int *)((uintptr_t)nothing + 12), source, 1, 0);
    }
    if (!strcmp(name, "minus")) shmem_int_put(target, source, minus, 0);
    if (!strcmp(name, "minus blocks")) shmem_int_iput(target, source, 1, 1, minus, 0);
    if (!strcmp(name, "minus operands")) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, target, source, -1);
    if (!strcmp(name, "null")) {
        long *nothing = shmem_malloc((size_t)1 << 46);
        if (me != 0) *nothing = 1;
    }
    if (!strcmp(name, "held")) {
        /* The barrier is reached by one PE at a time. */
        shmem_set_lock(&lock);
        shmem_barrier_all();
        shmem_clear_lock(&lock);
    }
    if (!strcmp(name, "nested") && me == 0) shmem_init();
    shmem_finalize();
    return 0;
}
