/* Start, end and exit. */
#include "check.h"
#include <pthread.h>
#include <signal.h>

static long slots[64];

/* Tells every PE that I am here, and waits until the message has arrived. */
static void announce(long value)
{
    for (int pe = 0; pe < npes; pe++)
        shmem_long_p(&slots[me], value, pe);
    shmem_quiet();
}

static void check_announced(long value)
{
    for (int pe = 0; pe < npes; pe++)
        CHECK_EQ(slots[pe], value);
}

static int initialized(void)
{
    int answer = -1;
    shmem_query_initialized(&answer);
    return answer;
}

TEST(INIT_1, "init is collective: after it every PE can be reached", .bare = 1)
{
    dawdle((int)(getpid() % 4) * 10);
    check_init();
    announce(1);
    shmem_barrier_all();
    check_announced(1);
    shmem_finalize();
}

TEST(INIT_1_put_before, "a put before init ends with a message", .bare = 1, .aborts = 1, .says = "shmem_long_p|init")
{
    shmem_long_p(&slots[0], 1, 0);
}

TEST(INIT_1_barrier_before, "a barrier before init ends with a message", .bare = 1, .aborts = 1,
     .says = "shmem_barrier_all|init")
{
    shmem_barrier_all();
}

TEST(INIT_1_malloc_before, "shmem_malloc before init ends with a message", .bare = 1, .aborts = 1,
     .says = "shmem_malloc|init")
{
    CHECK(shmem_malloc(8) != NULL);
}

TEST(INIT_1_split_before, "a split before init ends with a message", .bare = 1, .aborts = 1, .says = "shmem_team_split_2d|init")
{
    shmem_team_t row, column;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &row, NULL, 0, &column);
}

TEST(INIT_1_team_create_ctx_before, "a context on a team before init ends with a message", .bare = 1, .aborts = 1,
     .says = "shmem_team_create_ctx|init")
{
    shmem_ctx_t context;
    shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &context);
}

TEST(INIT_1_put_after, "a put after the last finalize ends with a message", .bare = 1, .aborts = 1,
     .says = "shmem_long_p")
{
    check_init();
    shmem_finalize();
    shmem_long_p(&slots[0], 1, 0);
}

TEST(INIT_2, "init and finalize nest", .bare = 1)
{
    for (int depth = 0; depth < 5; depth++)
        check_init();
    for (int depth = 0; depth < 4; depth++) {
        shmem_finalize();
        CHECK(initialized());
        announce(depth);
        shmem_barrier_all();
        check_announced(depth);
        shmem_barrier_all();
    }
    shmem_finalize();
    CHECK(!initialized());
}

TEST(INIT_3, "an inner finalize is a barrier and frees nothing", .bare = 1)
{
    check_init();
    check_init();
    shmem_ctx_t context;
    long *heap = shmem_malloc(sizeof *heap);
    REQUIRE(heap && shmem_ctx_create(0, &context) == 0);
    *heap = -1;
    shmem_barrier_all();
    if (me == 0)
        dawdle(20);
    for (int pe = 0; pe < npes; pe++)
        shmem_long_p(&slots[me], 5, pe);
    shmem_long_p(heap, me, right_pe());
    shmem_finalize();
    check_announced(5);
    CHECK_EQ(*heap, left_pe());
    shmem_barrier_all();
    shmem_ctx_long_p(context, heap, 100 + me, right_pe());
    shmem_ctx_destroy(context);
    shmem_barrier_all();
    CHECK_EQ(*heap, 100 + left_pe());
    shmem_free(heap);
    shmem_finalize();
}

TEST(INIT_4, "after the last finalize a new life begins, with an empty heap", .bare = 1, .also = "INIT-6",
     .env = "SHMEM_SYMMETRIC_SIZE=16M")
{
    for (long life = 1; life <= 6; life++) {
        check_init();
        long *most = shmem_malloc(12u << 20);
        REQUIRE(most);
        most[0] = most[(12u << 20) / sizeof(long) - 1] = life;
        announce(life);
        shmem_barrier_all();
        check_announced(life);
        CHECK_EQ(shmem_long_g(most, right_pe()), life);
        CHECK_EQ(shmem_long_g(&most[(12u << 20) / sizeof(long) - 1], right_pe()), life);
        shmem_barrier_all();
        shmem_long_atomic_add(most, 1, left_pe());
        shmem_barrier_all();
        CHECK_EQ(most[0], life + 1);
        shmem_finalize();
        CHECK(!initialized());
    }
}

TEST(INIT_5, "the last finalize completes what is pending on every context and waits for all PEs", .bare = 1,
     .also = "INIT-6")
{
    static long by_default[64], by_context[64], by_team[64];
    static const long one = 1, two = 2, three = 3;
    check_init();
    shmem_ctx_t context, team_context;
    shmem_team_t team;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    REQUIRE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) == 0);
    REQUIRE(shmem_team_create_ctx(team, 0, &team_context) == 0);
    if (me == npes - 1)
        dawdle(30);
    for (int pe = 0; pe < npes; pe++) {
        shmem_long_put_nbi(&by_default[me], &one, 1, pe);
        shmem_ctx_long_put_nbi(context, &by_context[me], &two, 1, pe);
        shmem_ctx_long_put_nbi(team_context, &by_team[me], &three, 1, pe);
    }
    shmem_finalize();
    for (int pe = 0; pe < npes; pe++) {
        CHECK_EQ(by_default[pe], 1);
        CHECK_EQ(by_context[pe], 2);
        CHECK_EQ(by_team[pe], 3);
    }
}

TEST(INIT_6, "static variables keep their last values after finalize and stay usable", .bare = 1)
{
    static long in_bss[1000], in_data = 42;
    check_init();
    announce(9);
    for (int i = 0; i < 1000; i++)
        in_bss[i] = i;
    shmem_long_p(&in_data, 43 + me, right_pe());
    shmem_finalize();
    check_announced(9);
    CHECK_EQ(in_data, 43 + left_pe());
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(in_bss[i], i);
        in_bss[i] = -i;
    }
    CHECK_EQ(in_bss[999], -999);
}

static void *query_in_thread(void *expected)
{
    CHECK_EQ(initialized() != 0, expected != NULL);
    return NULL;
}

static void query_from_everywhere(int expected)
{
    static int true_value;
    pthread_t thread;
    CHECK_EQ(initialized() != 0, expected);
    pthread_create(&thread, NULL, query_in_thread, expected ? &true_value : NULL);
    pthread_join(thread, NULL);
}

TEST(INIT_7, "query_initialized answers at any time, from any thread", .bare = 1)
{
    query_from_everywhere(0);
    for (int life = 0; life < 2; life++) {
        shmem_init();
        query_from_everywhere(1);
        shmem_init();
        shmem_finalize();
        query_from_everywhere(1);
        shmem_finalize();
        query_from_everywhere(0);
    }
}

TEST(INIT_8, "start_pes ignores its argument, may be repeated and needs no finalize", .bare = 1, .also = "LEG-2")
{
    start_pes(7);
    start_pes(0);
    start_pes(-1);
    me = _my_pe(), npes = _num_pes();
    announce(1);
    shmem_barrier_all();
    check_announced(1);
    shmem_barrier_all();
    if (me == 0)
        dawdle(30);
    for (int pe = 0; pe < npes; pe++)
        shmem_long_p(&slots[me], 2, pe);
}

TEST(INIT_8_finalize, "an explicit finalize after start_pes works", .bare = 1)
{
    start_pes(0);
    me = shmem_my_pe(), npes = shmem_n_pes();
    announce(1);
    shmem_barrier_all();
    check_announced(1);
    shmem_finalize();
}

TEST(INIT_8_global_exit, "the exit handler does not hang when another PE has called global_exit", .bare = 1, .exit = 5)
{
    start_pes(0);
    if (shmem_my_pe() == 0) {
        dawdle(50);
        shmem_global_exit(5);
    }
}

TEST(INIT_8_no_finalize, "leaving main without finalize after init ends the job", .one_node = 1, .bare = 1)
{
    check_init();
    announce(3);
    shmem_barrier_all();
    check_announced(3);
}

TEST(INIT_8_gone, "a PE that leaves main without finalize ends the job of those who wait for it", .bare = 1, .aborts = 1,
     .min_pes = 2, .says = "has ended without shmem_finalize")
{
    shmem_init();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        return;
    shmem_barrier_all();
}

TEST(INIT_8_status, "a PE that leaves with a status ends the job with that one, whoever waits for it where", .bare = 1, .exit = 4,
     .min_pes = 2)
{
    shmem_init();
    if (shmem_my_pe() == shmem_n_pes() - 1)
        exit(4);
    shmem_barrier_all();
}

TEST(INIT_8_late, "a PE that fails after finalize decides the status, and the others still say what they have to say", .bare = 1,
     .exit = 5, .min_pes = 2, .says = "the last PE reports")
{
    shmem_init();
    int last = shmem_my_pe() == shmem_n_pes() - 1, first = shmem_my_pe() == 0;
    shmem_finalize();
    if (first)
        exit(5);
    usleep(300000);
    if (last)
        printf("the last PE reports\n");
}

TEST(INIT_9_barrier, "global_exit ends PEs that sit in a barrier", .exit = 7)
{
    if (me == npes - 1)
        shmem_global_exit(7);
    shmem_barrier_all();
    CHECK(!"a PE passed the barrier");
}

TEST(INIT_9_wait, "global_exit ends PEs that block in a wait", .exit = 8)
{
    static long never;
    if (me == npes - 1) {
        dawdle(20);
        shmem_global_exit(8);
    }
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

TEST(INIT_9_lock, "global_exit ends PEs that wait for a lock", .exit = 9)
{
    static long lock;
    shmem_set_lock(&lock);
    dawdle(20);
    shmem_global_exit(9);
}

TEST(INIT_9_compute, "global_exit ends PEs that compute", .exit = 10)
{
    volatile unsigned long work = 0;
    if (me == 0)
        shmem_global_exit(10);
    for (;;)
        work++;
}

TEST(INIT_9_finalize, "global_exit ends PEs that sit in finalize", .exit = 11)
{
    if (me == npes - 1) {
        dawdle(20);
        shmem_global_exit(11);
    }
}

TEST(INIT_9_zero, "global_exit with status 0 ends the other PEs too")
{
    static long never;
    if (me == npes - 1)
        shmem_global_exit(0);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

TEST(INIT_9_all, "all PEs may call global_exit at once", .exit = 12)
{
    shmem_global_exit(12);
}

static void *exit_globally(void *unused)
{
    (void)unused;
    shmem_global_exit(13);
}

TEST(INIT_9_thread, "global_exit from another thread while the first one waits", .bare = 1, .exit = 13)
{
    static long never;
    int provided;
    pthread_t thread;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (shmem_my_pe() == 0)
        pthread_create(&thread, NULL, exit_globally, NULL);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

TEST(INIT_9_flush, "global_exit flushes the caller's standard output", .exit = 14, .says_once = "still in the buffer")
{
    if (me == 0) {
        setvbuf(stdout, NULL, _IOFBF, 4096);
        printf("still in the buffer\n");
        shmem_global_exit(14);
    }
    shmem_barrier_all();
}

TEST(INIT_10_killed, "a PE that is killed takes the job down, and is named", .exit = 137, .says = "PE 0")
{
    if (me == 0) {
        dawdle(20);
        raise(SIGKILL);
    }
    shmem_barrier_all();
    shmem_barrier_all();
}

TEST(INIT_10_abort, "a PE that aborts takes the job down, and is named", .exit = 134, .says = "PE 0")
{
    if (me == 0) {
        dawdle(20);
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    shmem_barrier_all();
    shmem_barrier_all();
}

TEST(INIT_10_exit, "a PE that exits with a status takes the job down", .exit = 3)
{
    static long never;
    if (me == npes - 1) {
        dawdle(20);
        _exit(3);
    }
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
}

TEST(INIT_11, "PE numbers are unique, from 0 to the number of PEs, and constant")
{
    CHECK(me >= 0 && me < npes);
    shmem_long_atomic_add(&slots[me], 1, 0);
    shmem_barrier_all();
    for (int pe = 0; me == 0 && pe < npes; pe++)
        CHECK_EQ(slots[pe], 1);
    CHECK_EQ(shmem_my_pe(), me);
    CHECK_EQ(shmem_n_pes(), npes);
}

TEST(INIT_12, "version and name agree with the header")
{
    int major = -1, minor = -1;
    char name[SHMEM_MAX_NAME_LEN + 8];
    shmem_info_get_version(&major, &minor);
    CHECK(major == 1 && minor == 6);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    memset(name, 'x', sizeof name);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK(strlen(name) < SHMEM_MAX_NAME_LEN);
    for (int i = SHMEM_MAX_NAME_LEN; i < SHMEM_MAX_NAME_LEN + 8; i++)
        CHECK_EQ(name[i], 'x');
}

TEST(INIT_13_version, "SHMEM_VERSION prints the library's name once per job", .env = "SHMEM_VERSION=1",
     .says_once = SHMEM_VENDOR_STRING)
{
    shmem_barrier_all();
}

TEST(INIT_13_sma_version, "the old name SMA_VERSION works too", .env = "SMA_VERSION=1", .says_once = SHMEM_VENDOR_STRING)
{
    shmem_barrier_all();
}

TEST(INIT_13_info, "SHMEM_INFO lists the variables once per job", .env = "SHMEM_INFO=yes",
     .says = "SHMEM_SYMMETRIC_SIZE|SHMEM_VERSION|SHMEM_DEBUG")
{
    shmem_barrier_all();
}

TEST(INIT_13_debug, "SHMEM_DEBUG does not disturb the program", .env = "SHMEM_DEBUG=1")
{
    announce(1);
    shmem_barrier_all();
    check_announced(1);
}

TEST(INIT_13_silent, "without these variables the library prints nothing", .quiet_on = SHMEM_VENDOR_STRING "|oxshmem")
{
    shmem_barrier_all();
}

TEST(INIT_13_unknown, "an unknown variable is answered with the nearest name",
     .env = "SHMEM_SYMETRIC_SIZE=1M SHMEM_OFI_PROVIDR=tcp",
     .says = "SHMEM_SYMETRIC_SIZE|SHMEM_SYMMETRIC_SIZE|SHMEM_OFI_PROVIDR|SHMEM_OFI_PROVIDER")
{
    shmem_barrier_all();
}

#define MALFORMED(SUFFIX, NAME, VALUE)                                                                          \
    TEST(INIT_13_##SUFFIX, "a value that is none of the variable's is refused: " NAME "=" VALUE, .bare = 1,     \
         .aborts = 1, .env = NAME "=" VALUE, .says = NAME "|" VALUE)                                            \
    {                                                                                                           \
        int provided;                                                                                           \
        exit(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0);                                           \
    }

MALFORMED(bad_wait, "SHMEM_WAIT", "often")
MALFORMED(bad_check, "SHMEM_CHECK", "many")
MALFORMED(bad_contexts, "SHMEM_MAX_CONTEXTS", "some")
