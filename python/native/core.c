/* The routines that Python programs call often, and one that calls any other routine of the library.
 *
 * `oxshmem/_core.py` opens this file with ctypes and calls `oxshmem_attach`, which puts the functions into that module. So
 * the file is no extension module and has no description whose layout differs between Pythons (see python.h). The library
 * is open by then; its routines are looked up by name, at the first call with an element type. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "places.h"
#include "signals.h"

struct job job;

#include "families.h"

/* ------------------------------------------------------------------ arguments */

/* No routine of routines.inc has more. */
#define MOST_ARGUMENTS 9

/* Sorts positional and named arguments into `given`; those that are not given are NULL. */
static int sort(const char *routine, const char *const *names, int required, PyObject *const *args, Py_ssize_t count,
                PyObject *kwnames, PyObject **given) {
    int all = 0;
    while (names[all] != NULL) given[all++] = NULL;
    if (count > all) {
        PyErr_Format(PyExc_TypeError, "%s takes at most %d arguments, and %zd are given", routine, all, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) given[i] = args[i] == &_Py_NoneStruct && i >= required ? NULL : args[i];
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_Size(kwnames);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int place = 0;
        while (place < all && PyUnicode_CompareWithASCIIString(name, names[place]) != 0) place++;
        if (place == all) {
            PyErr_Format(PyExc_TypeError, "%s has no argument %R", routine, name);
            return -1;
        }
        if (place < count) {
            PyErr_Format(PyExc_TypeError, "%s: the argument %s is given twice, by its place and by its name", routine, names[place]);
            return -1;
        }
        given[place] = args[count + i] == &_Py_NoneStruct && place >= required ? NULL : args[count + i];
    }
    for (int i = 0; i < required; i++) {
        if (given[i] != NULL) continue;
        char form[128];
        size_t length = 0;
        for (int k = 0; k < required && length < sizeof form; k++) {
            length += (size_t)snprintf(form + length, sizeof form - length, "%s%s", k == 0 ? "" : ", ", names[k]);
        }
        PyErr_Format(PyExc_TypeError, "%s: the argument %s is missing: write %s(%s)", routine, names[i], routine, form);
        return -1;
    }
    return 0;
}

struct ctx {
    void *handle;
    int pes;
};

static int ctx_take(struct ctx *ctx, PyObject *object, const char *routine) {
    ctx->handle = job.standard;
    ctx->pes = job.pes;
    if (object == NULL) return 0;
    PyObject *handle = PyObject_GetAttrString(object, "_handle");
    PyObject *pes = handle == NULL ? NULL : PyObject_GetAttrString(object, "_pes");
    if (pes != NULL) {
        ctx->handle = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(handle);
        ctx->pes = (int)PyLong_AsLongLong(pes);
        Py_DecRef(pes);
    }
    if (handle != NULL) Py_DecRef(handle);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "%s: ctx is %R; pass a context that oxshmem.Ctx has made", routine, object), -1;
    }
    if (ctx->pes <= 0) {
        PyErr_Format(PyExc_ValueError, "%s: this context has been destroyed, or finalize() has ended it", routine);
        return -1;
    }
    return 0;
}

/* For a call whose last argument is an index: a number in the place of the context is meant as one. */
static int ctx_before_index_take(struct ctx *ctx, PyObject *object, const char *routine) {
    if (ctx_take(ctx, object, routine) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "%s: ctx is %R; pass a context that oxshmem.Ctx has made; an index goes by its name, as index=3", routine, object);
    return -1;
}

static int pe_take(int *pe, PyObject *object, const struct ctx *ctx, const char *routine) {
    long long number = whole_number(object);
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "%s: the PE is %R; it is a number from 0 to %d", routine, object, ctx->pes - 1), -1;
    }
    if (number < 0 || number >= ctx->pes) {
        PyErr_Format(PyExc_ValueError, "%s: there is no PE %lld: PEs have numbers from 0 to %d", routine, number, ctx->pes - 1);
        return -1;
    }
    *pe = (int)number;
    return 0;
}

static int integer_or(Py_ssize_t *number, PyObject *object, Py_ssize_t otherwise, const char *routine, const char *argument) {
    *number = otherwise;
    if (object == NULL) return 0;
    *number = (Py_ssize_t)whole_number(object);
    if (*number != -1 || !PyErr_Occurred()) return 0;
    int is_long = PyErr_ExceptionMatches(PyExc_OverflowError);
    PyErr_Clear();
    PyErr_Format(is_long ? PyExc_OverflowError : PyExc_TypeError, "%s: %s is %R; it is a whole number%s", routine, argument, object,
                 is_long ? " of at most 64 bits" : "");
    return -1;
}

static PyObject *none(void) {
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* So many bytes take longer than other threads of Python should wait. */
#define LONG_TRANSFER 32768

/* Whether the PEs of a context have the numbers of the world. A team of all PEs may have them in another order. */
static int has_numbers_of_world(const struct ctx *ctx) {
    void *team = NULL;
    return ctx->handle == job.standard || (job.ctx_get_team != NULL && job.ctx_get_team(ctx->handle, &team) == 0 && team == job.world);
}

/* Whether a call may take long enough to let other threads of Python run. A context of a team may have other numbers. */
static int is_long(size_t bytes, int pe, const struct ctx *ctx) {
    return bytes >= LONG_TRANSFER || ctx->pes != job.pes || job.near == NULL || !job.near[pe] || !has_numbers_of_world(ctx);
}

/* Such a call may wait for ever, so it says where in the program it is, and lets handlers of signals run. */
#define ASIDE(long_one, call)                                              \
    do {                                                                   \
        int is_aside = (long_one);                                         \
        const char **line = is_aside ? line_begin() : NULL;                \
        PyThreadState *state = is_aside ? PyEval_SaveThread() : NULL;      \
        PyThreadState **outer = is_aside ? signals_begin(&state) : NULL;   \
        call;                                                              \
        if (is_aside) signals_end(outer), PyEval_RestoreThread(state);     \
        line_end(line);                                                    \
    } while (0)

/* Does something with `T` as the element's type. */
#define BY_TYPE(array, ...)                                                        \
    switch ((array).code) {                                                        \
    case F32: { typedef float T; enum { IS_F = 1 }; __VA_ARGS__; break; }          \
    case F64: { typedef double T; enum { IS_F = 2 }; __VA_ARGS__; break; }         \
    case I64: case U64: { typedef int64_t T; enum { IS_F = 0 }; __VA_ARGS__; break; } \
    case I8: { typedef int8_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }          \
    case U8: { typedef uint8_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }         \
    case I16: { typedef int16_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }        \
    case U16: { typedef uint16_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }       \
    case U32: { typedef uint32_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }       \
    default: { typedef int32_t T; enum { IS_F = 0 }; __VA_ARGS__; break; }         \
    }
#define IN(v) (IS_F == 1 ? (T)(v).f32 : IS_F == 2 ? (T)(v).f64 : (T)(v).integer)
#define OUT(v, call)                                                               \
    do {                                                                           \
        T got = (call);                                                            \
        if (IS_F == 1) (v).f32 = (float)got;                                       \
        else if (IS_F == 2) (v).f64 = (double)got;                                 \
        else (v).integer = (int64_t)got;                                           \
    } while (0)

/* The memory of an operation that goes on must stay, whatever the program does with its array: until quiet, a list holds it, with the
 * PE for a quiet of some PEs. It is put there when the operation has begun: a quiet of another thread empties the list first, and
 * completes what began before that. It is there as a memoryview, under which a bytearray cannot grow and a mapped file not be closed.
 * An array that the list has no room for is complete at once. */
static int keep(PyObject *object, int pe, PyObject *ctx, void *handle) {
    PyObject *list = ctx == NULL ? job.kept : PyObject_GetAttrString(ctx, "_kept");
    PyObject *view = list == NULL ? NULL : PyMemoryView_FromObject(object);
    PyObject *pair = view == NULL ? NULL : Py_BuildValue("(Ni)", view, pe);
    int outcome = pair == NULL ? -1 : PyList_Append(list, pair);
    if (pair != NULL) Py_DecRef(pair);
    if (ctx != NULL && list != NULL) Py_DecRef(list);
    if (outcome < 0) ((void (*)(void *))dlsym(RTLD_DEFAULT, "shmem_ctx_quiet"))(handle);
    return outcome;
}

#include "transfers.h"
#include "updates.h"

/* ------------------------------------------------------------------ any routine */

/* Calls a routine whose arguments are all integers and addresses: `address, result, arguments`. All of them go as 64 bits, which is
 * how both of our processors pass them: in registers whose upper halves a routine ignores, then in places of 8 bytes. An
 * array stands for its address. `result`: N none, i int, u 64 bits; a small letter lets other threads run. */
static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    enum { LIMIT = 12 };
    uint64_t values[LIMIT] = {0};
    Py_buffer buffers[LIMIT];
    int held = 0;
    PyObject *given = NULL;
    (void)self;
    if (!is_started() && begin() < 0) return NULL;
    if (count < 2 || count > LIMIT + 2) return PyErr_Format(PyExc_TypeError, "_core.call: %zd arguments", count);
    uint64_t (*routine)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t) = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(args[0]);
    const char *result = PyUnicode_AsUTF8AndSize(args[1], NULL);
    if (PyErr_Occurred()) return NULL;
    for (Py_ssize_t i = 2; i < count; i++) {
        uint64_t *value = &values[i - 2];
        if (args[i] == &_Py_NoneStruct) continue;
        if (PyObject_CheckBuffer(args[i])) {
            if (PyObject_GetBuffer(args[i], &buffers[held], PyBUF_FORMAT | PyBUF_STRIDES) < 0) goto done;
            *value = (uint64_t)(uintptr_t)buffers[held++].buf;
            continue;
        }
        *value = (uint64_t)whole_number(args[i]);
        if (*value == UINT64_MAX && PyErr_Occurred()) {
            PyErr_Clear();
            *value = PyLong_AsUnsignedLongLong(args[i]);
            if (PyErr_Occurred()) goto done;
        }
    }
    uint64_t out;
    ASIDE(*result >= 'a', out = routine(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7],
                                        values[8], values[9], values[10], values[11]));
    if (PyErr_Occurred()) goto done; /* a handler has interrupted the wait */
    switch (*result | 0x20) {
    case 'n': given = none(); break;
    case 'i': given = PyLong_FromLongLong((int32_t)out); break;
    default: given = PyLong_FromUnsignedLongLong(out); break;
    }
done:
    while (held > 0) PyBuffer_Release(&buffers[--held]);
    return given;
}

static PyObject *told_call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const char **line = line_begin();
    PyObject *done = call(self, args, count);
    line_end(line);
    return done;
}

/* `answers, address, result, arguments`: the same, and puts what the routine returns at the end of a list. No handler of a signal runs
 * between the two. */
static PyObject *call_into(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 1) return PyErr_Format(PyExc_TypeError, "_core.call_into: no arguments");
    const char **line = lines.of_all_calls ? line_begin() : NULL;
    PyObject *done = call(self, args + 1, count - 1);
    line_end(line);
    if (done == NULL) return NULL;
    int outcome = PyList_Append(args[0], done);
    Py_DecRef(done);
    return outcome < 0 ? NULL : none();
}

/* `answers, turns, address, result, arguments`: the same with a routine that ends what the last answer of the list stands for. Takes the
 * answer from the list, and behind the routine from `turns`, where it is the one that has the turn. Says whether there was an answer. A
 * handler of a signal runs before all of this or behind it, so no exception leaves a part undone. */
static PyObject *call_out_of(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 2) return PyErr_Format(PyExc_TypeError, "_core.call_out_of: %zd arguments", count);
    PyObject *answer = PyObject_CallMethodObjArgs(args[0], job.pop, NULL);
    if (answer == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_IndexError)) return NULL;
        PyErr_Clear();
        return PyBool_FromLong(0);
    }
    const char **line = lines.of_all_calls ? line_begin() : NULL;
    PyObject *done = call(self, args + 2, count - 2), *type, *value, *trace;
    line_end(line);
    PyErr_Fetch(&type, &value, &trace);
    if (PyDict_GetItem(args[1], job.turn) == answer) PyDict_DelItem(args[1], job.turn);
    Py_DecRef(answer);
    if (done == NULL) return PyErr_Restore(type, value, trace), NULL;
    Py_DecRef(done);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(1);
}

/* The address of a routine or an object of the library: `name`. */
static PyObject *symbol(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    const char *name = count == 1 ? PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL;
    if (name == NULL) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "_core.symbol takes a name");
    return PyLong_FromUnsignedLongLong((uintptr_t)dlsym(RTLD_DEFAULT, name));
}

/* What an array is for a routine: `array, need, routine, argument`. Gives address, count, size, stride, code,
 * whether it is bool, whether it is in Fortran's order. */
static PyObject *inspect(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "_core.inspect takes four arguments");
    const char *routine = PyUnicode_AsUTF8AndSize(args[2], NULL), *argument = PyUnicode_AsUTF8AndSize(args[3], NULL);
    struct array array;
    if (routine == NULL || argument == NULL) return NULL;
    if (array_take(&array, args[0], (int)PyLong_AsLongLong(args[1]), routine, argument) < 0) return NULL;
    enum { PARTS = 7 };
    PyObject *parts[PARTS] = {PyLong_FromUnsignedLongLong((uintptr_t)array.address), PyLong_FromUnsignedLongLong(array.count),
                              PyLong_FromUnsignedLongLong(array.size), PyLong_FromLongLong(array.stride),
                              PyLong_FromLongLong(array.code), PyBool_FromLong(array.is_bool), PyBool_FromLong(array.is_fortran)};
    array_release(&array);
    PyObject *tuple = PyTuple_New(PARTS);
    for (int i = 0; tuple != NULL && i < PARTS; i++) PyTuple_SetItem(tuple, i, parts[i]);
    return tuple;
}

/* ------------------------------------------------------------------ start and end */

int begin(void) {
    PyObject *done = PyObject_CallFunctionObjArgs(job.start, NULL);
    if (done == NULL) return -1;
    Py_DecRef(done);
    if (!is_started()) {
        PyErr_SetString(PyExc_RuntimeError, "oxshmem has been finalized: it can be used from init to finalize");
        return -1;
    }
    return 0;
}

/* Takes what the module knows before the library begins: `start, to_bytes, from_bytes, kept`. */
static PyObject *prepare(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "_core.prepare takes three functions and a list");
    for (int i = 0; i < 4; i++) Py_IncRef(args[i]);
    job.start = args[0], job.to_bytes = args[1], job.from_bytes = args[2], job.kept = args[3];
    job.pop = PyUnicode_InternFromString("pop"), job.turn = PyUnicode_InternFromString("turn");
    if (job.pop == NULL || job.turn == NULL) return NULL;
    return none();
}

/* Begins the library: `level of threads`. Gives the level that it has. */
static PyObject *begin_library(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    int (*init)(int, int *) = (int (*)(int, int *))dlsym(RTLD_DEFAULT, "shmem_init_thread");
    int level = count == 1 ? (int)PyLong_AsLongLong(args[0]) : -1, provided = 0, failed;
    if (init == NULL || PyErr_Occurred()) return PyErr_Occurred() ? NULL : none();
    ASIDE(1, failed = init(level, &provided));
    if (failed != 0)
        return PyErr_Format(PyExc_RuntimeError, "the library cannot begin in this process, for the reason above. A process that a PE "
                            "has started is no PE: do the work in the PE, or in a forked process that makes no calls of oxshmem");
    return PyLong_FromLongLong(provided);
}

/* Says that the library has begun: `my_pe, n_pes, near`; or has ended: no arguments. */
static PyObject *started(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    __atomic_store_n(&job.is_started, 0, __ATOMIC_RELAXED);
    if (count == 0) return none();
    char *near;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(args[2], &near, &length) < 0) return NULL;
    Py_IncRef(args[2]);
    job.me = (int)PyLong_AsLongLong(args[0]), job.pes = (int)PyLong_AsLongLong(args[1]), job.near = near;
    job.standard = dlsym(RTLD_DEFAULT, "oxshmem_context_default"), job.world = dlsym(RTLD_DEFAULT, "oxshmem_team_world");
    /* No calls of the program. */
    *(void **)&job.ctx_get_team = dlsym(RTLD_DEFAULT, "pshmem_ctx_get_team");
    *(void **)&job.addr_accessible = dlsym(RTLD_DEFAULT, "pshmem_addr_accessible");
    __atomic_store_n(&job.is_started, job.addr_accessible != NULL, __ATOMIC_RELEASE);
    return none();
}

/* The end of the process: it finalizes when the program has succeeded. A failing one ends as it is, so that the launcher ends the
 * other PEs with its status, where a finalize would wait for them. */
static void at_exit(int status, void *unused) {
    (void)unused;
    if (!is_started() || status != 0) return;
    void (*finalize)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "shmem_finalize");
    if (lines.word != NULL) *lines.word() = "end of the program";
    if (finalize != NULL) finalize();
}

static PyObject *finalize_at_exit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)args, (void)count;
    on_exit(at_exit, NULL);
    return none();
}

/* ------------------------------------------------------------------ the module */

#define ROUTINE(family, name, values, fetches, pattern, text)                                                   \
    static struct routine row_##name = {#name, pattern, values, fetches, {NULL}, {NULL}};                       \
    static PyObject *py_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {    \
        (void)self;                                                                                             \
        return family(&row_##name, args, count, kwnames);                                                       \
    }                                                                                                           \
    static PyObject *told_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {  \
        const char **line = line_begin();                                                                       \
        PyObject *done = py_##name(self, args, count, kwnames);                                                 \
        line_end(line);                                                                                         \
        return done;                                                                                            \
    }
#include "routines.inc"
#undef ROUTINE

#define ROUTINE(family, name, values, fetches, pattern, text) \
    {#name, (PyCFunction)(void *)py_##name, METH_FASTCALL | METH_KEYWORDS, text},
#define PLAIN(name, function) {name, (PyCFunction)(void *)function, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
#include "routines.inc"
    PLAIN("call", call),
    PLAIN("call_into", call_into),
    PLAIN("call_out_of", call_out_of),
    PLAIN("begin_library", begin_library),
    PLAIN("symbol", symbol),
    PLAIN("inspect", inspect),
    PLAIN("prepare", prepare),
    PLAIN("started", started),
    PLAIN("finalize_at_exit", finalize_at_exit),
    {NULL, NULL, 0, NULL},
};
#undef ROUTINE

/* The same calls for a job that is recorded, which tell the line of every call. Only such a job pays for it. */
#define ROUTINE(family, name, values, fetches, pattern, text) \
    {#name, (PyCFunction)(void *)told_##name, METH_FASTCALL | METH_KEYWORDS, text},
static PyMethodDef told_methods[] = {
#include "routines.inc"
    PLAIN("call", told_call),
    {NULL, NULL, 0, NULL},
};
#undef ROUTINE

__attribute__((visibility("default"))) PyObject *oxshmem_attach(PyObject *module) {
    PyObject *file = PyObject_GetAttrString(module, "__file__");
    lines_prepare(file == NULL ? NULL : PyUnicode_AsUTF8AndSize(file, NULL));
    PyErr_Clear();
    if (file != NULL) Py_DecRef(file);
    signals_prepare();
    if (PyModule_AddFunctions(module, methods) < 0) return NULL;
    if (lines.of_all_calls && PyModule_AddFunctions(module, told_methods) < 0) return NULL;
    return none();
}
