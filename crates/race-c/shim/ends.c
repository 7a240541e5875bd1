/* The status with which the process ends. */
#include "race.h"
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The exit status of a process that has reported a race and would have ended with 0. */
static int found;
/* The PE; what it forks ends as it likes. */
static pid_t process;
/* What the program has told quick_exit, which tells its functions nothing. */
static int quick;

void race_found(int status) { __atomic_store_n(&found, status, __ATOMIC_RELAXED); }

int race_status(int status)
{
    return status == 0 && getpid() == process ? __atomic_load_n(&found, __ATOMIC_RELAXED) : status;
}

const int *race_status_at(const int *status)
{
    static _Thread_local int instead;
    instead = race_status(*status);
    return &instead;
}

/* glibc goes on with the functions that were registered before this one, and takes the status of the last call: the program's own
   functions, destructors of C++ and what is left in buffers are among them. */
static void tell(int status, void *unused)
{
    (void)unused;
    int instead = race_status(status);
    if (instead != status)
        exit(instead);
}

/* The same for the functions of quick_exit. */
static void tell_quickly(void)
{
    int status = __atomic_load_n(&quick, __ATOMIC_RELAXED), instead = race_status(status);
    if (instead != status)
        quick_exit(instead);
}

void race_prepare(void)
{
    static int prepared;
    if (!__atomic_exchange_n(&prepared, 1, __ATOMIC_RELAXED)) {
        process = getpid();
        on_exit(tell, 0); /* before the library's own handler is registered, so that it runs after that */
        at_quick_exit(tell_quickly);
    }
}

void quick_exit(int status)
{
    __atomic_store_n(&quick, status, __ATOMIC_RELAXED);
    REAL(quick_exit)(status);
    __builtin_unreachable();
}

/* glibc itself ends a process by an inner name, so neither exit nor a child of posix_spawn comes here. Children of fork and vfork do, with a
   number of their own. A handler of a signal may call it, and a child in the memory of the PE: so it looks for no next definition,
   which takes the loader's lock, and does what the one of glibc does. */
void _exit(int status)
{
    status = race_status(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

void _Exit(int status) { _exit(status); }
