/* Python's own function in the system's table of handlers only notes that a signal has come. The handlers run in the main thread, between
 * two instructions of Python or where PyErr_CheckSignals is called. So the library calls `check` in waits of that thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "places.h"
#include "signals.h"

/* Milliseconds from one check to the next: soon for who types Ctrl-C, and seldom for other threads of Python. */
#define CHECK_INTERVAL 50

typedef int check_function(void);

static check_function **(*word_of_thread)(void);
static void (*only_ends_calls)(int);
/* Where the thread's state is while it waits; NULL: it is in no such call. */
static __thread PyThreadState **waiting;
static __thread check_function **word;
static __thread long long next_check;

void signals_prepare(void) {
    *(void **)&word_of_thread = dlsym(RTLD_DEFAULT, "oxshmem_interrupt_check");
    *(void **)&only_ends_calls = dlsym(RTLD_DEFAULT, "oxshmem_interrupt_only_ends_calls");
}

/* Handlers run in the main thread alone. */
static int is_main(void) {
    enum { UNKNOWN, MAIN, OTHER };
    static __thread int kind;
    if (word_of_thread == NULL || only_ends_calls == NULL) return 0;
    if (kind == UNKNOWN) kind = syscall(SYS_gettid) == getpid() ? MAIN : OTHER;
    return kind == MAIN;
}

/* Whether a handler in Python waits for a signal: then the system's handler is a function of Python. */
static int is_of_python(int number) {
    struct sigaction action;
    Dl_info handler, python;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return 0;
    return dladdr((void *)(uintptr_t)action.sa_handler, &handler) != 0 &&
           dladdr((void *)(uintptr_t)PyErr_CheckSignals, &python) != 0 && handler.dli_fbase == python.dli_fbase;
}

static int has_handlers(void) {
    enum { LAST = 31 };
    for (int number = 1; number <= LAST; number++) {
        if (is_of_python(number)) return 1;
    }
    return 0;
}

/* Whether Ctrl-C does no more than raise KeyboardInterrupt, so that no handler changes what the wait is for. */
static int only_raises(void) {
    PyObject *signals = PyImport_ImportModule("_signal");
    PyObject *handler = signals == NULL ? NULL : PyObject_CallMethod(signals, "getsignal", "i", SIGINT);
    PyObject *standard = handler == NULL ? NULL : PyObject_GetAttrString(signals, "default_int_handler");
    int is_standard = standard != NULL && handler == standard;
    PyErr_Clear();
    if (standard != NULL) Py_DecRef(standard);
    if (handler != NULL) Py_DecRef(handler);
    if (signals != NULL) Py_DecRef(signals);
    return is_standard && is_of_python(SIGINT);
}

static int is_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    long long milliseconds = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
    if (milliseconds < next_check) return 0;
    next_check = milliseconds + CHECK_INTERVAL;
    return 1;
}

/* Runs handlers. 1: one has raised an exception, which is that of the call. */
static int check(void) {
    PyThreadState **state = waiting;
    if (state == NULL || !is_time() || !has_handlers()) return 0;
    PyEval_RestoreThread(*state);
    /* Calls of a handler are made at lines of its own. */
    const char *line = line_take();
    int has_raised = PyErr_CheckSignals() < 0;
    line_return(line);
    if (!has_raised) only_ends_calls(only_raises());
    *state = PyEval_SaveThread();
    return has_raised;
}

PyThreadState **signals_begin(PyThreadState **state) {
    if (!is_main()) return NULL;
    PyThreadState **outer = waiting;
    if (word == NULL) word = word_of_thread();
    waiting = state;
    *word = check;
    return outer;
}

void signals_end(PyThreadState **outer) {
    if (!is_main()) return;
    waiting = outer;
    if (outer == NULL) *word = NULL;
}
