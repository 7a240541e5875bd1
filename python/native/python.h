/* The part of Python's stable interface that the module calls.
 *
 * No header of Python is needed to build it, and no structure of Python is known here: arguments and modules are pointers
 * that only Python's functions look into. So one file serves CPython 3.9 to 3.15, the free-threaded builds too, whose
 * objects are laid out otherwise. `Py_buffer` and `PyMethodDef` have been the same since 3.0; the functions are in the
 * stable interface, or were exported under these names before they entered it. */
#ifndef OXSHMEM_PYTHON_H
#define OXSHMEM_PYTHON_H

#include <stddef.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct oxshmem_object PyObject;
typedef struct oxshmem_thread PyThreadState;

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef struct {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

enum { METH_KEYWORDS = 2, METH_FASTCALL = 0x80 };
enum { PyBUF_FORMAT = 4, PyBUF_STRIDES = 0x18 };

extern PyObject _Py_NoneStruct;
extern PyObject PyComplex_Type, PyFloat_Type, PyLong_Type;
extern PyObject *PyExc_IndexError, *PyExc_OverflowError, *PyExc_RuntimeError, *PyExc_TypeError, *PyExc_ValueError;

void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
PyObject *PyBool_FromLong(long);
PyObject *Py_BuildValue(const char *, ...);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
PyObject *PyComplex_FromDoubles(double, double);
double PyComplex_RealAsDouble(PyObject *), PyComplex_ImagAsDouble(PyObject *);
int PyDict_DelItem(PyObject *, PyObject *);
PyObject *PyDict_GetItem(PyObject *, PyObject *); /* borrowed */
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_Occurred(void);
int PyErr_CheckSignals(void);
void PyErr_Clear(void), PyErr_SetString(PyObject *, const char *);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **), PyErr_Restore(PyObject *, PyObject *, PyObject *);
int PyErr_ExceptionMatches(PyObject *);
PyObject *PyEval_GetFrame(void); /* borrowed */
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);
double PyFloat_AsDouble(PyObject *);
PyObject *PyFloat_FromDouble(double);
PyObject *PyFrame_GetBack(PyObject *), *PyFrame_GetCode(PyObject *);
int PyFrame_GetLineNumber(PyObject *);
int PyGILState_Check(void);
int Py_IsInitialized(void);
__attribute__((weak)) int PyFrame_GetLasti(PyObject *); /* since 3.11 */
long long PyLong_AsLongLong(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
PyObject *PyLong_FromLongLong(long long), *PyLong_FromUnsignedLongLong(unsigned long long);
int PyList_Append(PyObject *, PyObject *);
PyObject *PyMemoryView_FromObject(PyObject *);
int PyModule_AddFunctions(PyObject *, PyMethodDef *);
PyObject *PyNumber_Index(PyObject *);
int PyObject_CheckBuffer(PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PyObject *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
void PyBuffer_Release(Py_buffer *);
PyObject *PyImport_ImportModule(const char *);
PyObject *PyObject_Type(PyObject *);
int PyType_IsSubtype(PyObject *, PyObject *);
int PyObject_IsTrue(PyObject *);
int PyObject_RichCompareBool(PyObject *, PyObject *, int);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_New(Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PyObject *PyUnicode_FromString(const char *), *PyUnicode_InternFromString(const char *);
const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
int PyUnicode_CompareWithASCIIString(PyObject *, const char *);

/* The number that an integer stands for; -1 with an exception, as PyLong_AsLongLong, which before Python 3.10 takes 1.5 for 1. */
static inline long long whole_number(PyObject *object) {
    PyObject *integer = PyNumber_Index(object);
    if (integer == NULL) return -1;
    long long number = PyLong_AsLongLong(integer);
    Py_DecRef(integer);
    return number;
}

#endif
