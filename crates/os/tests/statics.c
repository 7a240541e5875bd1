/* Looks at its own variables through the eyes of a peer. Ends with 0 and a last line "ok" if all is as it should be. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *probe_reason(void);
volatile char *probe_peer_view(volatile void *address);
uint64_t probe_backed(void);
const char *probe_build_id(void);

#define CHECK(truth) \
    do { \
        if (!(truth)) { printf("line %d: %s\n", __LINE__, #truth); exit(1); } \
    } while (0)

/* Without a descriptor the copy for a child has all of it. */
#ifdef CLOSED
#define UNTOUCHED (1L << 20)
#else
#define UNTOUCHED (1L << 30)
#endif

static volatile long initialised = 42;
static volatile long zero;
static volatile char untouched[UNTOUCHED];
static volatile long set_before_main;
static volatile long *volatile pointer = &initialised;
static const char *const sealed[] = {"a pointer", "in RELRO"};
static volatile long initialised_later = 1;

#ifdef LARGE
static volatile char large[1 << 16] = {5};
#endif
#ifdef CONSTANTS
const char large_constant[1 << 16] = {6};
#endif

/* Pages at both ends of what the library asks of the kernel at once, which is 4,096 of them. */
#define PAGES 16384
static volatile char scattered[PAGES][4096];
static const int scattered_pages[] = {0, 1, 4094, 4095, 4096, 4097, 8191, 8192, PAGES - 2, PAGES - 1};
#define SCATTERED (sizeof scattered_pages / sizeof *scattered_pages)

__attribute__((constructor)) static void before_main(void) {
    set_before_main = 17;
    for (size_t i = 0; i < SCATTERED; i++) scattered[scattered_pages[i]][i] = (char)(i + 1);
}

__attribute__((unused)) static void *rest(void *stop) {
    pause();
    return stop;
}

/* This early the C library does not know the environment yet. */
__attribute__((unused)) static void early_thread(int argc, char **argv, char **environment) {
    pthread_t thread;
    for (; *environment; environment++)
        if (!strcmp(*environment, "EARLY_THREAD=1")) pthread_create(&thread, NULL, rest, NULL);
    (void)argc, (void)argv;
}

#ifdef EARLY
__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **, char **) = early_thread;
#endif

static void peer_and_program_see_the_same(void) {
    volatile long *seen = (volatile long *)probe_peer_view(&initialised);
    CHECK(seen && seen != &initialised);
    CHECK(*seen == 42);
    *seen = 43;
    CHECK(initialised == 43 && *pointer == 43);
    initialised = 44;
    CHECK(*seen == 44);
    seen = (volatile long *)probe_peer_view(&zero);
    CHECK(seen && *seen == 0);
    zero = 5;
    CHECK(*seen == 5);
    seen = (volatile long *)probe_peer_view(&set_before_main);
    CHECK(seen && *seen == 17 && set_before_main == 17);
    CHECK(!strcmp(sealed[1], "in RELRO"));
}

static void pages_keep_what_was_stored_before(void) {
    for (size_t i = 0; i < SCATTERED; i++) {
        volatile char *page = scattered[scattered_pages[i]];
        volatile char *seen = probe_peer_view(page);
        CHECK(seen && page[i] == (char)(i + 1) && seen[i] == (char)(i + 1));
        CHECK(page[i + 1] == 0 && seen[4095] == 0);
    }
}

static void an_unused_array_is_symmetric_and_free(void) {
    CHECK(probe_backed() < 16 << 20);
    volatile char *seen = probe_peer_view(untouched + UNTOUCHED / 2);
    CHECK(seen && *seen == 0);
    *seen = 9;
    CHECK(untouched[UNTOUCHED / 2] == 9);
    CHECK(probe_backed() < 16 << 20);
}

static void a_child_has_variables_of_its_own(void) {
    int to_child[2], status;
    char go;
    volatile long *seen = (volatile long *)probe_peer_view(&zero);
    zero = 7;
    CHECK(!pipe(to_child));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(read(to_child[0], &go, 1) == 1);
        CHECK(zero == 7 && untouched[UNTOUCHED / 2] == 9 && initialised == 44);
        zero = 70;
        CHECK(*seen == 8);
        CHECK(strstr(probe_reason(), "fork"));
        child = fork();
        if (child == 0) {
            CHECK(zero == 70);
            zero = 700;
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0 && zero == 70);
        exit(3);
    }
    zero = 8;
    CHECK(write(to_child[1], "", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK(zero == 8 && *seen == 8 && !probe_reason());
    CHECK(system("exit 4") >> 8 == 4 && zero == 8);
}

static void *wait_for_a_byte(void *from)
{
    char go;
    return read(*(int *)from, &go, 1) == 1 ? from : NULL;
}

/* The C library writes to its own variables in the child: to its locks, and to its count of threads, without which the end of a
 * thread would be the end of the process. */
static void a_fork_does_not_lose_threads(void) {
    int to_thread[2], status;
    pthread_t thread;
    void *result = NULL;
    CHECK(!pipe(to_thread) && !pthread_create(&thread, NULL, wait_for_a_byte, &to_thread[0]));
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(strstr(probe_reason(), "fork"));
        zero = 60;
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3 && zero == 8);
    CHECK(write(to_thread[1], "", 1) == 1);
    CHECK(!pthread_join(thread, &result) && result == &to_thread[0]);
}

/* As in a program that becomes a daemon. */
__attribute__((unused)) static void a_closed_descriptor_harms_no_child(void) {
    int status;
    for (int number = 3; number < 1024; number++) close(number);
    CHECK(open("/proc/self/exe", O_RDONLY) == 3);
    CHECK(probe_reason() && strstr(probe_reason(), "closed the descriptor"));
    zero = 11;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(zero == 11 && initialised == 44 && untouched[UNTOUCHED / 2] == 9);
        zero = 110;
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3 && zero == 11);
}

int main(void) {
#ifdef SECOND
    CHECK(dlopen(getenv("SECOND"), RTLD_NOW | RTLD_LOCAL));
#endif
#ifdef CONSTANTS
    CHECK(large_constant[0] == 6);
#endif
    if (probe_reason()) {
        printf("not shared: %s\n", probe_reason());
        CHECK(initialised == 42 && set_before_main == 17 && !probe_peer_view(&initialised));
        return 0;
    }
#ifdef LARGE
    CHECK(large[0] == 5 && *probe_peer_view(large) == 5);
    *probe_peer_view(&large[1]) = 7;
    CHECK(large[1] == 7);
#endif
    peer_and_program_see_the_same();
    pages_keep_what_was_stored_before();
    an_unused_array_is_symmetric_and_free();
    a_child_has_variables_of_its_own();
    a_fork_does_not_lose_threads();
#ifdef CLOSED
    a_closed_descriptor_harms_no_child();
#endif
    char *memory = malloc(100000);
    CHECK(memory && initialised_later == 1);
    free(memory);
    printf("build id: %s\n", probe_build_id());
    printf("ok\n");
    return 0;
}
