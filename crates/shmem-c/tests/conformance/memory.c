/* Symmetric memory: static variables and heap in every kind of executable, local memory of every kind, alignment. */
// build:
// build: -fPIE -pie
// build: -fno-pie -no-pie
// build: -static-pie -fPIE
// build: -static -fno-pie
// build: -Wl,-z,norelro
// build: -Wl,-z,relro -Wl,-z,now
// build: -DSHIFTED_NAMES
#include "places.h"
#include "transfers.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { AT = 64, WIDEST = 16 };

static int in_data = 41;
static int in_bss;
int external_in_data = 43;
int external_in_bss;
static _Alignas(64) char large_in_bss[3 << 20];
static const char in_rodata[] = "read-only data may be the source of a put";

TEST(SYM_1_kinds, "variables of .data and .bss, with and without linkage, are symmetric")
{
    static int function_static = 42;
    int *const variables[] = {&in_data, &in_bss, &external_in_data, &external_in_bss, &function_static};
    const int before[] = {41, 0, 43, 0, 42};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(*variables[i], before[i]);
        CHECK_EQ(shmem_addr_accessible(variables[i], right_pe()), 1);
    }
    shmem_barrier_all();
    for (int i = 0; i < 5; i++) {
        shmem_int_p(variables[i], 1000 * i + me, right_pe());
        shmem_quiet();
        CHECK_EQ(shmem_int_g(variables[i], right_pe()), 1000 * i + me);
    }
    shmem_barrier_all();
    for (int i = 0; i < 5; i++)
        CHECK_EQ(*variables[i], 1000 * i + left_pe());
}

TEST(SYM_1_large, "a large array in .bss is symmetric from its first to its last byte")
{
    unsigned char source[1000];
    fill(source, sizeof source, me);
    for (size_t at = 0; at + sizeof source <= sizeof large_in_bss; at += sizeof large_in_bss / 7)
        shmem_putmem(large_in_bss + at, source, sizeof source, right_pe());
    shmem_char_p(large_in_bss + sizeof large_in_bss - 1, 99, right_pe());
    shmem_barrier_all();
    for (size_t at = 0; at + sizeof source <= sizeof large_in_bss; at += sizeof large_in_bss / 7)
        CHECK(is_pattern(large_in_bss + at, sizeof source, left_pe()));
    CHECK_EQ(large_in_bss[sizeof large_in_bss - 1], 99);
}

TEST(SYM_1_calls, "atomics, waits, signals and locks work on static variables")
{
    static long counter, lock, guarded;
    static uint64_t signal;
    shmem_long_atomic_add(&counter, me + 1, 0);
    shmem_set_lock(&lock);
    long value = shmem_long_g(&guarded, 0);
    shmem_long_p(&guarded, value + 1, 0);
    shmem_clear_lock(&lock);
    shmem_signal_add(&signal, 5, right_pe());
    CHECK_EQ(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5), 5);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(&counter, 0), (long)npes * (npes + 1) / 2);
    CHECK_EQ(shmem_long_g(&guarded, 0), npes);
}

TEST(SYM_1_fork, "a forked child has a private copy of the static variables")
{
    in_bss = 5;
    shmem_barrier_all();
    pid_t child = fork();
    if (child == 0) {
        int seen = in_bss;
        in_bss = 6;
        _exit(seen == 5 && in_bss == 6 ? 0 : 1);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(in_bss, 5);
    shmem_barrier_all();
    CHECK_EQ(shmem_int_g(&in_bss, right_pe()), 5);
}

/* The heap end of a transfer and the static end of it, both ways. */
TEST(SYM_3, "one call may mix heap and static memory")
{
    open_places();
    FOR_EACH_PLACE(from)
        FOR_EACH_PLACE(to) {
            if (from == to)
                continue;
            check_row = from->name, check_place = to->name;
            fill(from->bytes, 256, me);
            memset(to->bytes, GUARD, ROOM);
            shmem_barrier_all();
            shmem_putmem(to->bytes + AT, from->bytes, 256, right_pe());
            shmem_barrier_all();
            CHECK(is_pattern(to->bytes + AT, 256, left_pe()) && is_all(to->bytes + AT + 256, 64, GUARD));
            shmem_getmem(to->bytes + 1024, from->bytes, 256, right_pe());
            CHECK(is_pattern(to->bytes + 1024, 256, right_pe()));
            shmem_barrier_all();
        }
}

TEST(SYM_4, "the same variable is reached wherever it lies on the other PE")
{
    static uintptr_t addresses[64];
    const uintptr_t mine = (uintptr_t)&in_bss;
    for (int pe = 0; pe < npes; pe++)
        shmem_putmem(&addresses[me], &mine, sizeof mine, pe);
    shmem_int_p(&in_bss, 500 + me, right_pe());
    shmem_barrier_all();
    CHECK_EQ(in_bss, 500 + left_pe());
    CHECK_EQ(addresses[me], mine);
}

TEST(SYM_5, "pointers into the middle of an object are symmetric addresses")
{
    open_places();
    FOR_EACH_PLACE(place) {
        check_place = place->name;
        memset(place->bytes, 0, ROOM);
        shmem_barrier_all();
        for (size_t at = 0; at < ROOM; at += 501)
            shmem_uchar_p(place->bytes + at, (unsigned char)(me + 1), right_pe());
        shmem_uchar_p(place->bytes + ROOM - 1, (unsigned char)(me + 1), right_pe());
        shmem_barrier_all();
        for (size_t at = 0; at < ROOM; at += 501)
            CHECK_EQ(place->bytes[at], left_pe() + 1);
        CHECK_EQ(place->bytes[ROOM - 1], left_pe() + 1);
    }
}

TEST(SYM_6, "the local side may be stack, malloc, thread-local, read-only or mapped memory", .also = "SYM-2")
{
    enum { BYTES = 300 };
    static unsigned char target[BYTES];
    static _Thread_local unsigned char in_thread[BYTES];
    unsigned char on_stack[BYTES];
    unsigned char *by_malloc = malloc(BYTES);
    unsigned char *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *const local[] = {in_thread, on_stack, by_malloc, mapped};
    for (int i = 0; i < 4; i++) {
        fill(local[i], BYTES, (unsigned)(10 * i + me));
        shmem_barrier_all();
        shmem_putmem(target, local[i], BYTES, right_pe());
        shmem_barrier_all();
        CHECK(is_pattern(target, BYTES, (unsigned)(10 * i + left_pe())));
        memset(local[i], 0, BYTES);
        shmem_getmem_nbi(local[i], target, BYTES, right_pe());
        shmem_quiet();
        CHECK(is_pattern(local[i], BYTES, (unsigned)(10 * i + me)));
    }
    mprotect(mapped, BYTES, PROT_READ);
    shmem_barrier_all();
    shmem_putmem(target, mapped, BYTES, right_pe());
    shmem_barrier_all();
    CHECK(is_pattern(target, BYTES, (unsigned)(30 + left_pe())));
    shmem_barrier_all();
    shmem_putmem(target, in_rodata, sizeof in_rodata, right_pe());
    shmem_barrier_all();
    CHECK(memcmp(target, in_rodata, sizeof in_rodata) == 0);
    free(by_malloc);
    munmap(mapped, BYTES);
}

TEST(SYM_6_file, "a file mapped read-only may be the source of a put")
{
    static unsigned char target[4096];
    FILE *program = fopen("/proc/self/exe", "rb");
    REQUIRE(program);
    const unsigned char *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(program), 0);
    REQUIRE(mapped != MAP_FAILED);
    shmem_putmem(target, mapped, 4096, right_pe());
    shmem_barrier_all();
    CHECK(memcmp(target, mapped, 4096) == 0);
    fclose(program);
}

TEST(SYM_7, "the mem calls need no alignment: odd addresses, odd lengths")
{
    open_places();
    unsigned char buffer[256];
    FOR_EACH_PLACE(place)
        for (size_t to = 0; to < 17; to += 3)
            for (size_t from = 0; from < 17; from += 5)
                for (size_t length = 0; length < 80; length += 7) {
                    memset(place->bytes, GUARD, 256);
                    fill(buffer + from, length, me);
                    shmem_barrier_all();
                    shmem_putmem(place->bytes + 16 + to, buffer + from, length, right_pe());
                    shmem_barrier_all();
                    CHECK(is_all(place->bytes, 16 + to, GUARD));
                    CHECK(is_pattern(place->bytes + 16 + to, length, left_pe()));
                    CHECK(is_all(place->bytes + 16 + to + length, 64, GUARD));
                    shmem_getmem(buffer + from, place->bytes + 16 + to, length, right_pe());
                    CHECK(is_pattern(buffer + from, length, me));
                    shmem_barrier_all();
                }
}

TEST(SYM_9, "zero elements are legal with any pointer in every routine with a count")
{
    open_places();
    shmem_ctx_create(0, &transfer_context);
    unsigned char local[64];
    static uint64_t signal;
    memset(local, 0x11, sizeof local);
    memset(places[0].bytes, GUARD, ROOM);
    shmem_barrier_all();
    FOR_EACH_TRANSFER(t) {
        check_row = t->name;
        for (int null = 0; null < 2; null++) {
            void *there = null ? NULL : places[0].bytes, *here = null ? NULL : local;
            t->put(there, here, 0, right_pe());
            t->put_nbi(there, here, 0, right_pe());
            t->get(here, there, 0, right_pe());
            t->get_nbi(here, there, 0, right_pe());
            t->put_signal(there, here, 0, &signal, 1, SHMEM_SIGNAL_ADD, right_pe());
            t->put_signal_nbi(there, here, 0, &signal, 1, SHMEM_SIGNAL_ADD, right_pe());
            if (!t->iput)
                continue;
            t->iput(there, here, 1, 1, 0, right_pe());
            t->iget(here, there, 2, 3, 0, right_pe());
            t->ibput(there, here, 2, 2, 2, 0, right_pe());
            t->ibget(here, there, 2, 2, 0, 2, right_pe());
        }
    }
    shmem_ctx_quiet(transfer_context);
    shmem_barrier_all();
    CHECK(is_all(places[0].bytes, ROOM, GUARD) && is_all(local, sizeof local, 0x11));
    CHECK_EQ(signal, 4 * sizeof transfer_table / sizeof *transfer_table);
}
