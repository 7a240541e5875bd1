/* Arrays of Python as the library's routines take them. */
#ifndef OXSHMEM_ARRAY_H
#define OXSHMEM_ARRAY_H

#include <stdint.h>

#include "python.h"

/* Element types. The first ones have routines of their own; those from OTHER on are moved as bytes. */
enum code { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, F80, C64, C128, OTHER, F16 };
#define CODES OTHER
extern const char *const C_NAMES[CODES], *const NUMPY_NAMES[CODES];

/* An array, or a part of one. The buffer is held until array_release. */
struct array {
    Py_buffer buffer;
    char *address;
    size_t count;      /* elements */
    size_t size;       /* bytes of one */
    Py_ssize_t stride; /* elements from one to the next; 1 where they lie side by side */
    enum code code;
    int is_bool;
    int is_fortran; /* the first dimension is the quickest one */
};

/* TOGETHER: the array of a collective, whose elements lie together. The numbers are in _collectives.py, too. */
enum need { LOCAL_SOURCE = 0, WRITABLE = 1, SYMMETRIC = 2, TOGETHER = 4 };

/* Takes an argument apart; 0, or -1 with an exception that names routine and argument. */
int array_take(struct array *array, PyObject *object, int need, const char *routine, const char *argument);
void array_release(struct array *array);
/* What elements are called in messages: the dtype, as a new reference, or NULL with an exception. */
PyObject *array_type(const struct array *array);
/* Whether numbers have the byte order that this machine has not. */
int array_is_swapped(const struct array *array);
/* The elements must lie side by side. */
int array_is_solid(const struct array *array, const char *routine, const char *argument);
/* An atomic touches whole words: the elements must lie at multiples of their size. */
int array_is_aligned(const struct array *array, const char *routine, const char *argument);
/* Moves on to one element. */
int array_at(struct array *array, PyObject *index, const char *routine);

/* One element's value, in the way that routines take it. */
union value {
    int64_t integer;
    float f32;
    double f64;
    char bytes[32];
};
int value_take(union value *value, PyObject *object, const struct array *array, const char *routine);
PyObject *value_give(const union value *value, const struct array *array);

/* What the job looks like, set by `started`. */
struct job {
    int is_started; /* written last; a thread that reads it, without Python's lock too, sees the rest (is_started()) */
    int me, pes;
    void *standard; /* the context of calls that name none */
    void *world;    /* the team of all PEs */
    const char *near; /* by PE: whether its memory is reached by address, so that no call waits for the network */
    int (*addr_accessible)(const void *, int);
    int (*ctx_get_team)(void *, void **);
    PyObject *start, *to_bytes, *from_bytes; /* Python's functions: begin the library; rare elements to and from bytes */
    PyObject *kept; /* a list: arrays of operations that go on outside of contexts */
    PyObject *pop, *turn; /* the name of the method of lists, and the key of call_out_of */
};
extern struct job job;

static inline int is_started(void) { return __atomic_load_n(&job.is_started, __ATOMIC_ACQUIRE); }
/* Begins the library at the first call. */
int begin(void);

#endif
