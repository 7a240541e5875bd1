/* Handlers of signals that are written in Python: they run while a call waits for variables, and what they raise ends the wait. */
#ifndef OXSHMEM_SIGNALS_H
#define OXSHMEM_SIGNALS_H

#include "python.h"

/* Finds the library's functions. */
void signals_prepare(void);

/* The thread has given up Python's lock, by PyEval_SaveThread, which gave `*state`, and makes a call that may wait. Until signals_end
 * the library has it look for signals now and then. Gives what signals_end takes: calls of a handler are inside of such a call. */
PyThreadState **signals_begin(PyThreadState **state);
void signals_end(PyThreadState **outer);

#endif
