/* What fence orders and what quiet and barriers complete. */
#include "places.h"

enum { WORDS = 64, ROUNDS = 500 };

/* Issues one operation of every kind that a fence orders, so that each leaves `round` behind at the target. The first
 * WORDS longs take the puts, the slots after them one operation each. */
static void issue_everything(shmem_ctx_t context, long *target, uint64_t *signals, long round, long *source, int pe)
{
    for (int i = 0; i < WORDS; i++)
        source[i] = round;
    shmem_ctx_long_put_nbi(context, target, source, WORDS / 2, pe);
    shmem_ctx_long_put(context, target + WORDS / 2, source, WORDS / 4, pe);
    shmem_ctx_long_iput(context, target + WORDS - WORDS / 4, source, 2, 1, WORDS / 8, pe);
    shmem_ctx_long_ibput(context, target + WORDS - WORDS / 4 + 1, source, 2, 2, 1, WORDS / 8, pe);
    shmem_ctx_long_p(context, target + WORDS, round, pe);
    shmem_ctx_long_atomic_inc(context, target + WORDS + 1, pe);
    shmem_ctx_long_atomic_set(context, target + WORDS + 2, round, pe);
    shmem_ctx_long_atomic_fetch_add(context, target + WORDS + 3, 1, pe);
    static long unused_result;
    shmem_ctx_long_atomic_fetch_add_nbi(context, &unused_result, target + WORDS + 4, 1, pe);
    shmem_ctx_long_put_signal(context, target + WORDS + 5, source, 1, &signals[0], 1, SHMEM_SIGNAL_ADD, pe);
    shmem_ctx_long_put_signal_nbi(context, target + WORDS + 6, source, 1, &signals[1], round, SHMEM_SIGNAL_SET, pe);
    shmem_ctx_signal_set(context, &signals[2], (uint64_t)round, pe);
    shmem_ctx_signal_add(context, &signals[3], 1, pe);
}

static void check_everything(const long *target, const uint64_t *signals, long round)
{
    for (int i = 0; i < WORDS + 7; i++)
        CHECK_EQ(target[i], round);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(signals[i], round);
}

struct mailbox {
    long data[WORDS + 7];
    uint64_t signals[4];
    long flag, answer;
};
static struct mailbox static_box;

/* PE 0 sends rounds to the last PE; what follows `finish` on the context tells the receiver that a round is there. */
static void rounds_between_two(struct mailbox *box, shmem_ctx_t context, void (*finish)(shmem_ctx_t))
{
    int to = npes - 1;
    static long source[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            issue_everything(context, box->data, box->signals, round, source, to);
            finish(context);
            shmem_ctx_long_p(context, &box->flag, round, to);
        }
        if (me == to) {
            shmem_long_wait_until(&box->flag, SHMEM_CMP_EQ, round);
            check_everything(box->data, box->signals, round);
            shmem_long_p(&box->answer, round, 0);
        }
        if (me == 0) {
            shmem_ctx_quiet(context);
            shmem_long_wait_until(&box->answer, SHMEM_CMP_EQ, round);
        }
    }
    shmem_barrier_all();
}

static struct mailbox *heap_box(void)
{
    struct mailbox *box = shmem_calloc(1, sizeof *box);
    REQUIRE(box);
    return box;
}

static void fence_default(shmem_ctx_t context) { (void)context; shmem_fence(); }
static void quiet_default(shmem_ctx_t context) { (void)context; shmem_quiet(); }
static void pe_quiet_default(shmem_ctx_t context)
{
    (void)context;
    int to = npes - 1;
    shmem_pe_quiet(&to, 1);
}
static void ctx_pe_quiet(shmem_ctx_t context)
{
    const int twice[2] = {npes - 1, npes - 1};
    shmem_ctx_pe_quiet(context, twice, 2);
}

TEST(ORD_1_fence, "fence orders every kind of update before a later put to the same PE", .also = "ORD-2 SIG-7")
{
    rounds_between_two(&static_box, SHMEM_CTX_DEFAULT, fence_default);
    rounds_between_two(heap_box(), SHMEM_CTX_DEFAULT, fence_default);
}

TEST(ORD_1_quiet, "quiet completes every kind of update", .also = "SIG-7")
{
    rounds_between_two(&static_box, SHMEM_CTX_DEFAULT, quiet_default);
    rounds_between_two(heap_box(), SHMEM_CTX_DEFAULT, quiet_default);
}

TEST(ORD_1_results, "quiet brings home nonblocking gets and fetched values")
{
    static long value, counter;
    value = 100 + me;
    shmem_barrier_all();
    for (long i = 0; i < ROUNDS; i++) {
        long got = -1, fetched = -1, swapped = -1;
        shmem_long_get_nbi(&got, &value, 1, right_pe());
        shmem_long_atomic_fetch_nbi(&swapped, &value, right_pe());
        shmem_long_atomic_fetch_inc_nbi(&fetched, &counter, right_pe());
        shmem_quiet();
        CHECK_EQ(got, 100 + right_pe());
        CHECK_EQ(swapped, 100 + right_pe());
        CHECK_EQ(fetched, i);
    }
}

TEST(ORD_2_context, "fence on a context orders that context's operations")
{
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    rounds_between_two(&static_box, context, shmem_ctx_fence);
    rounds_between_two(heap_box(), context, shmem_ctx_quiet);
}

TEST(ORD_2_store, "fence orders a plain store to own symmetric memory before a later put", .also = "ORD-5")
{
    static volatile long data;
    static long flag;
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            data = round;
            shmem_fence();
            shmem_long_p(&flag, round, npes - 1);
        }
        if (me == npes - 1) {
            shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
            CHECK(shmem_long_g((long *)&data, 0) >= round);
        }
    }
}

TEST(ORD_3, "quiet makes updates visible to all PEs, not to the target alone", .min_pes = 3)
{
    static long data[WORDS], flag, answer;
    static long source[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            for (int i = 0; i < WORDS; i++)
                source[i] = round;
            shmem_long_put_nbi(data, source, WORDS, 1);
            shmem_quiet();
            shmem_long_p(&flag, round, 2);
            shmem_long_wait_until(&answer, SHMEM_CMP_EQ, round);
        }
        if (me == 2) {
            long copy[WORDS];
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
            shmem_long_get(copy, data, WORDS, 1);
            for (int i = 0; i < WORDS; i++)
                CHECK_EQ(copy[i], round);
            shmem_long_p(&answer, round, 0);
        }
    }
}

TEST(ORD_3_asleep, "quiet does not wait for the target's program", .min_pes = 2)
{
    static long data;
    static atomic_int quiet_done;
    if (me == 0) {
        shmem_long_p(&data, 7, 1);
        shmem_quiet();
        shmem_int_p((int *)&quiet_done, 1, 1);
        shmem_quiet();
    }
    if (me == 1)
        while (!atomic_load(&quiet_done))
            ;
}

TEST(ORD_4, "fence and quiet on SHMEM_CTX_INVALID do nothing", .also = "CTX-8")
{
    for (int i = 0; i < 10; i++) {
        shmem_ctx_fence(SHMEM_CTX_INVALID);
        shmem_ctx_quiet(SHMEM_CTX_INVALID);
    }
}

/* The writer stores by plain stores through the pointer, then tells the reader on the other side. */
TEST(ORD_5, "fence and quiet cover stores through shmem_ptr", .one_node = 1)
{
    static long flag, answer;
    long *data = heap_box()->data;
    int to = npes - 1;
    long *there = shmem_ptr(data, to);
    for (long round = 1; there && round <= ROUNDS; round++) {
        if (me == 0) {
            for (int i = 0; i < WORDS; i++)
                there[i] = round;
            if (round % 2)
                shmem_fence();
            else
                shmem_quiet();
            shmem_long_p(&flag, round, to);
        }
        if (me == to) {
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
            for (int i = 0; i < WORDS; i++)
                CHECK_EQ(data[i], round);
            shmem_long_p(&answer, round, 0);
        }
        if (me == 0)
            shmem_long_wait_until(&answer, SHMEM_CMP_EQ, round);
    }
}

TEST(ORD_6, "pe_quiet completes what went to the listed PEs; duplicates are tolerated")
{
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    rounds_between_two(&static_box, SHMEM_CTX_DEFAULT, pe_quiet_default);
    rounds_between_two(heap_box(), context, ctx_pe_quiet);
}

TEST(ORD_6_none, "pe_quiet with no PEs returns at once and ignores the pointer")
{
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    int *all = malloc(sizeof(int) * (size_t)npes);
    for (int pe = 0; pe < npes; pe++)
        all[pe] = npes - 1 - pe;
    shmem_pe_quiet(all, (size_t)npes);
    free(all);
}

TEST(ORD_7, "barrier_all completes the default context everywhere", .also = "ORD-9")
{
    static long slots[64], source[ROUNDS + 1];
    for (long round = 1; round <= ROUNDS; round++) {
        source[round] = round;
        for (int pe = 0; pe < npes; pe++)
            shmem_long_put_nbi(&slots[me], &source[round], 1, pe);
        shmem_barrier_all();
        for (int pe = 0; pe < npes; pe++)
            CHECK_EQ(slots[pe], round);
        shmem_barrier_all();
    }
}

TEST(ORD_8, "sync_all orders plain stores to symmetric memory")
{
    static volatile long value;
    for (long round = 1; round <= ROUNDS; round++) {
        value = round * (me + 1);
        shmem_sync_all();
        CHECK_EQ(shmem_long_g((long *)&value, right_pe()), round * (right_pe() + 1));
        shmem_sync_all();
    }
}

TEST(ORD_8_arrival, "sync_all returns to nobody before everybody has arrived")
{
    static long arrived[64];
    for (long round = 1; round <= 20; round++) {
        if (me == round % npes)
            dawdle(2);
        for (int pe = 0; pe < npes; pe++)
            shmem_long_p(&arrived[me], round, pe);
        shmem_quiet();
        shmem_sync_all();
        for (int pe = 0; pe < npes; pe++)
            CHECK(arrived[pe] >= round);
    }
}

TEST(ORD_9, "after a barrier plain loads see what anyone put before it")
{
    unsigned char *block = shmem_malloc(ROOM);
    REQUIRE(block);
    unsigned char source[ROOM];
    for (int root = 0; root < npes; root++) {
        fill(source, sizeof source, (unsigned)root);
        if (me == root)
            for (int pe = 0; pe < npes; pe++)
                shmem_putmem(block, source, ROOM, pe);
        shmem_barrier_all();
        CHECK(is_pattern(block, ROOM, (unsigned)root));
        shmem_barrier_all();
    }
}

TEST(ORD_10, "a context without store ordering still orders and completes its own operations")
{
    shmem_ctx_t context;
    REQUIRE(shmem_ctx_create(SHMEM_CTX_NOSTORE, &context) == 0);
    rounds_between_two(&static_box, context, shmem_ctx_fence);
    rounds_between_two(heap_box(), context, shmem_ctx_quiet);
}
