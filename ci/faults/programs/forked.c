/* Each PE forks children that call the library, while it goes on itself. Arguments: nothing. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long counter, words[4];
static long lock;
static long most, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], sync_words[SHMEM_REDUCE_SYNC_SIZE];
static shmem_team_t team, row, column;
static shmem_ctx_t context;
/* A put of so many elements is under way for a while. */
enum { LONG = 1 << 19 };
static long near_end[LONG], far_end[LONG];
static shmem_req_h request;
static shmemx_ct_t counted;
static int me, npes;

static void call(int which)
{
    long value = 7;
    int other = (me + 1) % npes;
    switch (which) {
    case 0: shmem_finalize(); break;
    case 1: shmem_barrier_all(); break;
    case 2: shmem_long_p(&words[0], -1, other); break;
    case 3: shmem_long_put(words, &value, 1, other); shmem_quiet(); break;
    case 4: shmem_ctx_long_p(context, &words[1], -1, other); break;
    case 5: shmem_long_atomic_add(&counter, 1000, other); break;
    case 6: shmem_team_sync(team); break;
    case 7: free(shmem_malloc(64)); break;
    case 8: shmem_set_lock(&lock); break;
    case 9: shmem_init(); break;
    case 10: shmem_ctx_quiet(context); shmem_quiet(); shmem_ctx_destroy(context); shmem_team_destroy(team); break;
    case 11: shmem_global_exit(3); break;
    case 12: shmem_long_wait_until(&words[3], SHMEM_CMP_EQ, 99); break;
    case 13: shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &words[0], &words[1], 1); break;
    case 14: shmem_long_max_to_all(&most, &words[1], 1, 0, 0, npes, work, sync_words); break;
    case 15: shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &row, NULL, 0, &column); break;
    case 16: while (!shmem_long_test(&words[3], SHMEM_CMP_EQ, 99)) continue; break;
    case 17: shmemx_ct_set(counted, 1000); break;
    case 18: break;
    }
}

enum { CALLS = 19, WAITS = 12 };

int main(void)
{
    shmem_init();
    me = shmem_my_pe(), npes = shmem_n_pes();
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
    shmem_ctx_create(0, &context);
    shmemx_ct_create(&counted);
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_words[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    /* The set has met before the forks. */
    shmem_long_max_to_all(&most, &words[1], 1, 0, 0, npes, work, sync_words);
    int other = (me + 1) % npes;
    /* The connections are there before the forks. */
    shmem_ctx_long_atomic_inc(context, &counter, other);
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    for (int which = 0; which < CALLS; which++) {
        /* A barrier of PE 0 waits for its put, and then for the others, which come when the child of PE 0 has ended. */
        if (which == WAITS && me == 0) {
            shmem_long_put_nbi(far_end, near_end, LONG, other);
            shmemx_barrier_all_nb(&request);
        }
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            call(which);
            exit(0);
        }
        for (int i = 0; i < 100; i++) {
            shmem_long_p(&words[2], i, other);
            shmem_long_atomic_inc(&counter, other);
        }
        int status = -1;
        waitpid(child, &status, 0);
        printf("PE %d call %d status %d\n", me, which, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        shmem_team_sync(team);
        if (which == WAITS && me > 0) shmemx_barrier_all_nb(&request);
        shmem_req_wait(&request);
        shmem_barrier_all();
    }
    long count = shmemx_ct_get(counted);
    if (counter != 1 + 100L * CALLS || words[0] != 0 || words[1] != 0 || words[2] != 99 || count != 0)
        printf("PE %d has %ld %ld %ld %ld %ld\n", me, counter, words[0], words[1], words[2], count);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    shmem_ctx_destroy(context);
    shmem_team_destroy(team);
    shmem_finalize();
    printf("PE %d done\n", me);
    return 0;
}
