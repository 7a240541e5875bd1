/* The harness of the conformance programs: cases that register themselves, and checks that count failures.
 *
 *     TEST(RMA_5, "iput touches exactly its elements") { ... CHECK_EQ(x, 4); ... }
 *
 * A case is named by the behaviour it shows, with a suffix when the behaviour needs several cases: RMA_5_mem belongs to
 * RMA-5. `prog --list` prints one line per case for the runner, without touching the library; `prog CASE` runs one case,
 * in a job of its own. A failed check does not end the case, so that barriers keep matching on all PEs; the exit status
 * of a PE tells whether all its checks held.
 */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything the runner has to know about a case. All fields but the first three are optional. */
struct check_case {
    const char *name;
    const char *title;
    void (*body)(void);
    const char *also;      /* further behaviours it shows: "SYM-3 SIG-9" */
    int bare;              /* the body calls init and finalize itself */
    int exit;              /* exit status of the job */
    int aborts;            /* the job must end with an error of the library: nonzero, and by no fault of memory access */
    const char *says;      /* texts the output must contain, separated by '|' */
    const char *says_once; /* texts the output must contain exactly once */
    const char *quiet_on;  /* texts the output must not contain */
    const char *env;       /* "NAME=value NAME=value" */
    int min_pes, max_pes;
    int one_node;          /* what it shows, a job of several nodes does not promise */
    int dev_shm_mib;       /* run where /dev/shm is a file system of that size */
    const char *beside;    /* the last PE runs the program built from the same source with -DTWIN, under this name */
    struct check_case *next;
};

static struct check_case *check_cases;
static atomic_int check_failures;
static int me, npes; /* set once the library is initialised by the harness or by check_init */

/* What a loop over forms is at; failures print it. */
static const char *check_row = "", *check_place = "";

/* The bodies come in source order because gcc and clang run constructors of one file from top to bottom. */
static inline void check_register(struct check_case *new_case)
{
    struct check_case **end = &check_cases;
    while (*end)
        end = &(*end)->next;
    *end = new_case;
}

#define TEST(NAME, TITLE, ...)                                                                                  \
    static void NAME(void);                                                                                     \
    static struct check_case case_##NAME = {.name = #NAME, .title = TITLE, .body = NAME, __VA_ARGS__};          \
    __attribute__((constructor)) static void register_##NAME(void) { check_register(&case_##NAME); }            \
    static void NAME(void)

static inline void check_failed(const char *file, int line, const char *what)
{
    atomic_fetch_add(&check_failures, 1);
    fprintf(stderr, "CHECK FAILED: PE %d of %d: %s:%d: %s %s: not true: %s\n", me, npes, file, line, check_row, check_place, what);
}

static inline void check_unequal(const char *file, int line, const char *what, long long left, long long right)
{
    atomic_fetch_add(&check_failures, 1);
    fprintf(stderr, "CHECK FAILED: PE %d of %d: %s:%d: %s %s: %s: %lld (%#llx) is not %lld (%#llx)\n", me, npes, file, line, check_row,
            check_place, what, left, (unsigned long long)left, right, (unsigned long long)right);
}

#define CHECK(CONDITION) ((CONDITION) ? (void)0 : check_failed(__FILE__, __LINE__, #CONDITION))

/* For integers and pointers. */
#define CHECK_EQ(LEFT, RIGHT)                                                                                   \
    do {                                                                                                        \
        long long check_left = (long long)(LEFT), check_right = (long long)(RIGHT);                             \
        if (check_left != check_right)                                                                          \
            check_unequal(__FILE__, __LINE__, #LEFT " == " #RIGHT, check_left, check_right);                    \
    } while (0)

/* For what the rest of the case cannot do without: ends the job. */
#define REQUIRE(CONDITION)                                                                                      \
    do {                                                                                                        \
        if (!(CONDITION)) {                                                                                     \
            check_failed(__FILE__, __LINE__, #CONDITION);                                                       \
            shmem_global_exit(1);                                                                               \
        }                                                                                                       \
    } while (0)

static inline void check_init(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
}

static inline int right_pe(void) { return (me + 1) % npes; }
static inline int left_pe(void) { return (me + npes - 1) % npes; }

/* Lets other PEs run ahead. A delay makes a wrong order likely to show; no check depends on its length. */
static inline void dawdle(int milliseconds) { usleep(1000 * (unsigned)milliseconds); }

/* The behaviour a case belongs to: AMO_3_static -> AMO-3. */
static inline void check_print_item(const char *name)
{
    const char *dash = strchr(name, '_');
    int prefix = (int)(dash - name), number = (int)strspn(dash + 1, "0123456789");
    printf("%.*s-%.*s", prefix, name, number, dash + 1);
}

static inline void check_print_text(const char *key, const char *value)
{
    if (value)
        printf("\t%s=%s", key, value);
}

static inline void check_print_number(const char *key, int value)
{
    if (value)
        printf("\t%s=%d", key, value);
}

static inline void check_list(void)
{
    for (struct check_case *c = check_cases; c; c = c->next) {
        printf("%s\titems=", c->name);
        check_print_item(c->name);
        printf("%s%s\ttitle=%s", c->also ? " " : "", c->also ? c->also : "", c->title);
        check_print_number("exit", c->exit);
        check_print_number("aborts", c->aborts);
        check_print_text("says", c->says);
        check_print_text("says_once", c->says_once);
        check_print_text("quiet_on", c->quiet_on);
        check_print_text("env", c->env);
        check_print_number("min_pes", c->min_pes);
        check_print_number("max_pes", c->max_pes);
        check_print_number("one_node", c->one_node);
        check_print_number("dev_shm_mib", c->dev_shm_mib);
        check_print_text("beside", c->beside);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        check_list();
        return 0;
    }
    struct check_case *chosen = argc == 2 ? check_cases : NULL;
    while (chosen && strcmp(chosen->name, argv[1]) != 0)
        chosen = chosen->next;
    if (!chosen) {
        fprintf(stderr, "usage: %s CASE | --list\n", argv[0]);
        return 2;
    }
    if (!chosen->bare)
        check_init();
    chosen->body();
    if (!chosen->bare)
        shmem_finalize();
    return atomic_load(&check_failures) != 0;
}

#endif
