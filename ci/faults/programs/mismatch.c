/* Members in different collectives: usage mismatch CALL CALL. PEs with even numbers make the first call, the others the second
 * one; then all meet in a barrier. Around every buffer lie guards, at which a thread of every PE looks all the time.
 *
 *   mismatch list      prints the names of the calls
 *
 * Status 9: a guard has changed. 0: nobody noticed anything. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT = 6, LONG = 20000, GUARD = 4096 };
static const long MARK = 0x5ca1ab1e0ddba11;

/* The memory of one array: guards, the elements, guards. */
typedef struct {
    long *memory;
    size_t elements;
} array_t;

static long small_memory[2][GUARD + 64 + GUARD];
static array_t arrays[4];
static long *dest, *source, *long_dest, *long_source;
static long psync[SHMEM_BCAST_SYNC_SIZE > SHMEM_COLLECT_SYNC_SIZE ? SHMEM_BCAST_SYNC_SIZE : SHMEM_COLLECT_SYNC_SIZE];
static long pwork[LONG];
static shmem_team_t all, made;
static int me, npes;

static long *lay(int which, long *memory, size_t elements)
{
    for (size_t i = 0; i < GUARD + elements + GUARD; i++)
        memory[i] = i < GUARD || i >= GUARD + elements ? MARK : (long)i;
    arrays[which] = (array_t){memory, elements};
    return memory + GUARD;
}

/* Held while a thread looks at the guards, and while an array is taken away from it. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static int guards_are_whole(void)
{
    for (int which = 0; which < 4; which++) {
        const array_t *array = &arrays[which];
        for (size_t i = 0; array->memory && i < GUARD; i++)
            if (array->memory[i] != MARK || array->memory[GUARD + array->elements + i] != MARK)
                return 0;
    }
    return 1;
}

static void look(void)
{
    pthread_mutex_lock(&looking);
    const int whole = guards_are_whole();
    pthread_mutex_unlock(&looking);
    if (!whole) {
        fprintf(stderr, "a guard has changed on PE %d\n", me);
        fflush(stderr);
        _Exit(9);
    }
}

static pthread_t watcher;
static atomic_int ends;

static void *watch(void *nothing)
{
    while (!atomic_load(&ends)) {
        look();
        usleep(500);
    }
    return nothing;
}

static void finish(void)
{
    atomic_store(&ends, 1);
    pthread_join(watcher, NULL);
    look();
    shmem_finalize();
    exit(0);
}

/* The block stays mapped, and nobody may write to it. */
static void give_back(void)
{
    shmem_free(arrays[3].memory);
}

/* The watcher must not see it move. */
static void grow(void)
{
    void *block = arrays[3].memory;
    pthread_mutex_lock(&looking);
    arrays[3].memory = NULL;
    pthread_mutex_unlock(&looking);
    shmem_realloc(block, 2 * sizeof(long) * (LONG + 2 * GUARD));
}

/* With memory that the team has leased before, its members meet nowhere before they exchange. */
static void exchange(void)
{
    shmem_long_alltoall(SHMEM_TEAM_WORLD, long_dest, long_source, 20);
}

/* The same for a gather. */
static void gather(size_t elements)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, long_dest, long_source, LONG / npes);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, long_dest, long_source, elements);
}

static void issue_barrier(void)
{
    shmem_req_h request;
    shmemx_barrier_all_nb(&request);
    shmem_req_wait(&request);
}

#define WORLD SHMEM_TEAM_WORLD
#define SET 0, 0, npes
#define CALLS(X)                                                                                                              \
    X(nothing, (void)0)                                                                                                       \
    X(barrier_all, shmem_barrier_all())                                                                                       \
    X(barrier_issued, issue_barrier())                                                                                        \
    X(sync_all, shmem_sync_all())                                                                                             \
    X(team_sync, shmem_team_sync(all))                                                                                        \
    X(barrier_set, shmem_barrier(SET, psync))                                                                                 \
    X(malloc, shmem_malloc(100))                                                                                              \
    X(malloc_more, shmem_malloc(3 << 20))                                                                                     \
    X(calloc, shmem_calloc(10, 10))                                                                                           \
    X(align, shmem_align(4096, 100))                                                                                          \
    X(realloc, grow())                                                                                                        \
    X(free, give_back())                                                                                                      \
    X(broadcast, shmem_long_broadcast(WORLD, dest, source, SHORT, 0))                                                         \
    X(broadcast_root_1, shmem_long_broadcast(WORLD, dest, source, SHORT, 1))                                                  \
    X(broadcast_one, shmem_long_broadcast(WORLD, dest, source, 1, 0))                                                         \
    X(broadcast_long, shmem_long_broadcast(WORLD, long_dest, long_source, LONG, 0))                                           \
    X(broadcast_less, shmem_long_broadcast(WORLD, long_dest, long_source, LONG / 2, 0))                                       \
    X(broadcast_elsewhere, shmem_long_broadcast(WORLD, long_source, long_dest, LONG, 0))                                      \
    X(alltoall_elsewhere, shmem_long_alltoall(WORLD, long_dest, long_dest, LONG / npes))                                      \
    X(fcollect_elsewhere, shmem_long_fcollect(WORLD, long_dest, long_dest, LONG / npes))                                      \
    X(max_some, shmem_long_max_reduce(WORLD, long_dest, long_source, 120))                                                    \
    X(max_of_others, shmem_long_max_reduce(WORLD, long_dest, long_source + 1000, 120))                                        \
    X(max_in_place, shmem_long_max_reduce(WORLD, long_dest, long_dest, LONG))                                                 \
    X(broadcast_set, shmem_broadcast64(dest, source, SHORT, 0, SET, psync))                                                   \
    X(collect, shmem_long_collect(WORLD, dest, source, me % 3))                                                               \
    X(collect_elsewhere, shmem_long_collect(WORLD, source, dest, me % 3))                                                     \
    X(collect_long, shmem_long_collect(WORLD, long_dest, long_source, 100 + me))                                              \
    X(fcollect, shmem_long_fcollect(WORLD, dest, source, 1))                                                                  \
    X(fcollect_two, shmem_long_fcollect(WORLD, dest, source, 2))                                                              \
    X(fcollect_long, shmem_long_fcollect(WORLD, long_dest, long_source, LONG / npes))                                         \
    X(fcollect_twice, gather(LONG / npes))                                                                                    \
    X(fcollect_less, gather(LONG / 2 / npes))                                                                                 \
    X(alltoall, shmem_long_alltoall(WORLD, dest, source, 1))                                                                  \
    X(alltoall_long, shmem_long_alltoall(WORLD, long_dest, long_source, LONG / npes))                                         \
    X(alltoall_some, shmem_long_alltoall(WORLD, long_dest, long_source, 20))                                                  \
    X(alltoalls, shmem_long_alltoalls(WORLD, long_dest, long_source, 2, 3, 10))                                               \
    X(max, shmem_long_max_reduce(WORLD, dest, source, 1))                                                                     \
    X(max_six, shmem_long_max_reduce(WORLD, dest, source, SHORT))                                                             \
    X(max_long, shmem_long_max_reduce(WORLD, long_dest, long_source, LONG))                                                   \
    X(max_less, shmem_long_max_reduce(WORLD, long_dest, long_source, LONG / 2))                                               \
    X(max_elsewhere, shmem_long_max_reduce(WORLD, long_source, long_source, LONG))                                            \
    X(max_of_ints, shmem_int_max_reduce(WORLD, (int *)dest, (int *)source, 2))                                                \
    X(min, shmem_long_min_reduce(WORLD, dest, source, 1))                                                                     \
    X(sum_of_doubles, shmem_double_sum_reduce(WORLD, (double *)dest, (double *)source, 1))                                    \
    X(sum_of_doubles_long, shmem_double_sum_reduce(WORLD, (double *)long_dest, (double *)long_source, LONG))                  \
    X(xor_set, shmem_long_xor_to_all(dest, source, 1, SET, pwork, psync))                                                     \
    X(alltoalls_swapped, shmem_long_alltoalls(WORLD, long_dest, long_source, 3, 2, 10))                                       \
    X(inscan, shmem_long_sum_inscan(WORLD, dest, source, 1))                                                                  \
    X(exscan_long, shmem_long_sum_exscan(WORLD, long_dest, long_source, LONG))                                                \
    X(max_of_team, shmem_long_max_reduce(all, dest, source, SHORT))                                                           \
    X(broadcast_of_team, shmem_long_broadcast(all, long_dest, long_source, LONG, 0))                                          \
    X(split, shmem_team_split_strided(WORLD, 0, 1, npes, NULL, 0, &made))                                                     \
    X(split_many, many())                                                                                                     \
    X(split_color, shmemx_team_split(WORLD, 1, me, &made))                                                                    \
    X(destroy, shmem_team_destroy(all))                                                                                       \
    X(alltoall_twice, (exchange(), exchange()))                                                                               \
    X(alltoall_barrier, (exchange(), shmem_barrier_all()))                                                                    \
    X(finalize, finish())

/* More splits than the world has teams' slots for without a message. */
static void many(void)
{
    for (int i = 0; i < 40; i++)
        shmem_team_split_strided(WORLD, 0, 1, npes, NULL, 0, &made);
}

static void call(const char *name)
{
#define CALL(NAME, CODE)                                                                                                      \
    if (strcmp(name, #NAME) == 0) {                                                                                           \
        CODE;                                                                                                                 \
        return;                                                                                                               \
    }
    CALLS(CALL)
    fprintf(stderr, "no call has the name %s\n", name);
    shmem_global_exit(8);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
#define PRINT(NAME, CODE) puts(#NAME);
        CALLS(PRINT)
        return 0;
    }
    if (argc != 3)
        return 8;
    shmem_init();
    me = shmem_my_pe(), npes = shmem_n_pes();
    dest = lay(0, small_memory[0], 64);
    source = lay(1, small_memory[1], 64);
    long_dest = lay(2, shmem_malloc(sizeof(long) * (LONG + 2 * GUARD)), LONG);
    long_source = lay(3, shmem_malloc(sizeof(long) * (LONG + 2 * GUARD)), LONG);
    shmem_team_split_strided(WORLD, 0, 1, npes, NULL, 0, &all);
    pthread_create(&watcher, NULL, watch, NULL);
    shmem_barrier_all();
    call(argv[1 + me % 2]);
    shmem_barrier_all();
    finish();
}
