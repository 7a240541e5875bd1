/* What carries the messages of messages.c: carry_tcp.c or carry_ucx.c. */
#include <stddef.h>

enum { PROCESSES = 64 };

/* This process, of how many, and whether they have less than a processor each. */
extern int me, count, shared;
/* What is sent, and room for what is received. */
extern char *source, *dest;

/* Ends the process with errno's reason. */
void fail(const char *what);

/* Makes what all processes need to find each other, and connects this process with all others. */
void before_fork(void);
void after_fork(void);

/* Sends to one process and receives from another at the same time; -1 is no process. A process that cannot go on polls;
 * where processors are shared, it gives its own away between two looks. */
void exchange(int to, size_t out, int from, size_t in);
