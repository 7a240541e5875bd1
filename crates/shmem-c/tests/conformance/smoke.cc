// A C++ program: overloads where the header has them, static objects, templates' static members.
#include <shmem.h>

#include <cstdio>
#include <cstring>

template <typename T> struct Shared { static T value; };
template <typename T> T Shared<T>::value;

struct Counter {
    long number;
    Counter() : number(5) {}
};
static Counter counter; // constructed before main, in .bss

static int failures;
#define CHECK(CONDITION) ((CONDITION) ? (void)0 : (void)(++failures, std::fprintf(stderr, "not true: %s\n", #CONDITION)))

static void hdr_1_cxx()
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes(), right = (me + 1) % npes, left = (me + npes - 1) % npes;
    CHECK(counter.number == 5);
    shmem_barrier_all();
    shmem_long_p(&counter.number, 10 + me, right);
    shmem_double_p(&Shared<double>::value, 0.5 + me, right);
    shmem_barrier_all();
    CHECK(counter.number == 10 + left);
    CHECK(Shared<double>::value == 0.5 + left);
    CHECK(shmem_longdouble_g(&Shared<long double>::value, right) == 0);
    shmem_finalize();
}

int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        std::puts("HDR_1_cxx\titems=HDR-1 SYM-1\ttitle=a C++ program with static objects and template members");
        return 0;
    }
    hdr_1_cxx();
    return failures != 0;
}
