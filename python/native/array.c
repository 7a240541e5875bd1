#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *const C_NAMES[CODES] = {"schar", "uchar", "short",  "ushort",     "int",      "uint",    "long",
                                    "ulong", "float", "double", "longdouble", "complexf", "complexd"};
const char *const NUMPY_NAMES[CODES] = {"int8",   "uint8",   "int16",   "uint16",     "int32",     "uint32",    "int64",
                                        "uint64", "float32", "float64", "longdouble", "complex64", "complex128"};

/* The element type of a format of Python's `struct`, with numpy's Z for complex numbers. */
static enum code code_of(const char *format, size_t size, int *is_bool) {
    *is_bool = 0;
    if (format == NULL) return U8;
    if (*format == '@' || *format == '=' || *format == '<') format++; /* the machine is little-endian */
    if (format[0] == 'Z') {
        if (format[1] == 'f') return C64;
        return format[1] == 'd' ? C128 : OTHER;
    }
    if (format[0] == 0 || format[1] != 0) return OTHER;
    int is_signed = strchr("bhilqn", format[0]) != NULL;
    if (is_signed || strchr("BHILQN", format[0]) != NULL) {
        switch (size) {
        case 1: return is_signed ? I8 : U8;
        case 2: return is_signed ? I16 : U16;
        case 4: return is_signed ? I32 : U32;
        default: return is_signed ? I64 : U64;
        }
    }
    switch (format[0]) {
    case '?': *is_bool = 1; return U8;
    case 'c': return U8;
    case 'e': return F16;
    case 'f': return F32;
    case 'd': return F64;
    case 'g': return F80;
    default: return OTHER;
    }
}

/* Whether the elements lie together, with the last dimension the quickest (C) or the first one (Fortran). */
static int lies_together(const Py_buffer *buffer, int from_last) {
    Py_ssize_t expected = buffer->itemsize;
    for (int n = 0; n < buffer->ndim; n++) {
        int i = from_last ? buffer->ndim - 1 - n : n;
        if (buffer->shape[i] > 1 && buffer->strides[i] != expected) return 0;
        expected *= buffer->shape[i];
    }
    return 1;
}

/* Finds count and stride. Arrays in one of the two orders, and one dimension with a stride, are understood. */
static int measure(struct array *array, int need, const char *routine, const char *argument) {
    Py_buffer *buffer = &array->buffer;
    array->stride = 1;
    array->count = 1;
    array->is_fortran = 0;
    int longer = 0, only = 0;
    for (int i = 0; i < buffer->ndim; i++) {
        array->count *= (size_t)buffer->shape[i];
        if (buffer->shape[i] > 1) longer++, only = i;
    }
    /* Elements of no bytes, as a text of length 0 in records, lie together wherever they are. */
    if (buffer->strides == NULL || array->count <= 1 || buffer->itemsize == 0 || lies_together(buffer, 1)) return 0;
    array->is_fortran = lies_together(buffer, 0);
    if (array->is_fortran) return 0;
    if (longer == 1 && buffer->strides[only] % buffer->itemsize == 0) {
        array->stride = buffer->strides[only] / buffer->itemsize;
        return 0;
    }
    if (longer == 1) { /* a field of records */
        PyErr_Format(PyExc_ValueError,
                     "%s: the stride of %s is %zd bytes, which is no multiple of its elements of %zd bytes: transfer whole records, or "
                     "make one array for each field",
                     routine, argument, buffer->strides[only], buffer->itemsize);
        return -1;
    }
    if (need & TOGETHER) {
        PyErr_Format(PyExc_ValueError, "%s: the elements of %s do not lie together: pass a symmetric array b of the same shape, %s", routine,
                     argument, strcmp(argument, "dest") == 0 ? "and copy out of it afterwards, as a[...] = b" : "after b[...] = a");
        return -1;
    }
    /* A private copy is no memory that another PE could be asked for. */
    PyErr_Format(PyExc_ValueError,
                 "%s: the elements of %s do not lie together, and it is no slice of one dimension with a stride. Transfer it "
                 "row by row%s",
                 routine, argument, need == LOCAL_SOURCE ? ", or a copy of it (numpy.ascontiguousarray)" : "");
    return -1;
}

/* Whether the array lies in the heap of an earlier life of the library. */
static int has_ended(const struct array *array) {
    PyObject *arrays = array->buffer.obj == NULL ? NULL : PyImport_ImportModule("oxshmem._arrays");
    PyObject *answer = arrays == NULL ? NULL : PyObject_CallMethod(arrays, "has_ended", "O", array->buffer.obj);
    int is_old = answer != NULL && PyObject_IsTrue(answer) == 1;
    PyErr_Clear();
    if (answer != NULL) Py_DecRef(answer);
    if (arrays != NULL) Py_DecRef(arrays);
    return is_old;
}

static void not_symmetric(const struct array *array, const char *routine, const char *argument) {
    const char *what = has_ended(array) ? "finalize() has ended the memory of this array: make it again after init()"
                       : array->buffer.ndim == 0 && array->buffer.readonly
                           ? "this is a number that was copied out of an array: pass a slice, as a[3:4]. A call that has "
                             "the argument index also takes the array with index=3. A number that was computed goes into a symmetric "
                             "array first, as b[0] = a.sum()"
                       : strcmp(argument, "signal") == 0
                           ? "this array is not symmetric: make it with oxshmem.new_signal, on all PEs"
                           : "this array is not symmetric: make it with oxshmem.zeros (or empty, full, array), on all PEs. An "
                             "expression or a list of indices, as 0.5 * a or a[[1, 2]], makes a new private array: write into the "
                             "symmetric one, as a[:] = 0.5 * a, and pass it or a slice of it";
    PyErr_Format(PyExc_ValueError, "%s: %s: %s", routine, argument, what);
}

/* Raises the exception for an array of numpy whose memory numpy does not export, as one of dates; 0: it is no array of numpy. */
static int is_not_exported(PyObject *object, const char *routine, const char *argument) {
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *kind = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "kind");
    PyObject *size = kind == NULL ? NULL : PyObject_GetAttrString(dtype, "itemsize");
    int is_of_numpy = size != NULL;
    PyErr_Clear();
    if (is_of_numpy) {
        long long bytes = PyLong_AsLongLong(size);
        const char *view = bytes == 8 ? "i8" : bytes == 4 ? "i4" : bytes == 2 ? "i2" : "u1";
        PyErr_Format(PyExc_TypeError, "%s: numpy does not export the memory of %s, because its dtype is %S: pass a.view(\"%s\")", routine,
                     argument, dtype, view);
        Py_DecRef(size);
    }
    if (kind != NULL) Py_DecRef(kind);
    if (dtype != NULL) Py_DecRef(dtype);
    return is_of_numpy;
}

int array_take(struct array *array, PyObject *object, int need, const char *routine, const char *argument) {
    if (!is_started() && begin() < 0) return -1;
    if (PyObject_GetBuffer(object, &array->buffer, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
        PyErr_Clear();
        if (is_not_exported(object, routine, argument)) return -1;
        PyErr_Format(PyExc_TypeError, "%s: %s is no array: pass a numpy array%s", routine, argument,
                     strcmp(argument, "signal") == 0 ? " that oxshmem.new_signal has made"
                     : need & SYMMETRIC     ? " that oxshmem.zeros, empty, full or array has made"
                     : need == LOCAL_SOURCE ? ", as numpy.array(values, dtype=dest.dtype)"
                                            : "");
        return -1;
    }
    array->address = array->buffer.buf;
    array->size = (size_t)array->buffer.itemsize;
    array->code = code_of(array->buffer.format, array->size, &array->is_bool);
    if (measure(array, need, routine, argument) < 0) goto failed;
    if ((need & WRITABLE) && array->buffer.readonly) {
        PyErr_Format(PyExc_ValueError, "%s: %s cannot be written to", routine, argument);
        goto failed;
    }
    if ((need & SYMMETRIC) && array->count > 0 && !job.addr_accessible(array->address, job.me)) {
        not_symmetric(array, routine, argument);
        goto failed;
    }
    return 0;
failed:
    PyBuffer_Release(&array->buffer);
    return -1;
}

PyObject *array_type(const struct array *array) {
    PyObject *dtype = array->buffer.obj == NULL ? NULL : PyObject_GetAttrString(array->buffer.obj, "dtype");
    if (dtype != NULL) return dtype;
    PyErr_Clear();
    return PyUnicode_FromString(array->is_bool ? "bool" : array->code < CODES ? NUMPY_NAMES[array->code] : array->buffer.format);
}

int array_is_swapped(const struct array *array) {
    return array->buffer.format != NULL && (array->buffer.format[0] == '>' || array->buffer.format[0] == '!');
}

void array_release(struct array *array) { PyBuffer_Release(&array->buffer); }

int array_is_solid(const struct array *array, const char *routine, const char *argument) {
    if (array->stride == 1) return 1;
    PyErr_Format(PyExc_ValueError, "%s: %s has a stride of %zd elements; this call takes elements that lie together", routine,
                 argument, array->stride);
    return 0;
}

int array_is_aligned(const struct array *array, const char *routine, const char *argument) {
    if (array->count == 0 || (uintptr_t)array->address % array->size == 0) return 1;
    PyErr_Format(PyExc_ValueError,
                 "%s: the elements of %s, of %zd bytes each, do not lie at multiples of their size, where an atomic finds them: use "
                 "an array of their own, or a dtype with align=True",
                 routine, argument, (Py_ssize_t)array->size);
    return 0;
}

int array_at(struct array *array, PyObject *index, const char *routine) {
    long long at = 0;
    if (index != NULL) {
        at = whole_number(index);
        if (at == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s: index is %R; it is one number, which counts the elements of the array in the order in "
                         "which they lie in memory", routine, index);
            return -1;
        }
    }
    const long long given = at;
    long long count = (long long)array->count;
    if (at < 0) at += count;
    if (at < 0 || at >= count) {
        PyErr_Format(PyExc_IndexError, "%s: index %lld of an array with %zd elements", routine, given, (Py_ssize_t)count);
        return -1;
    }
    array->address += at * array->stride * (Py_ssize_t)array->size;
    return 0;
}

static int does_not_fit(PyObject *object, const struct array *array, const char *routine) {
    PyErr_Clear();
    return PyErr_Format(PyExc_OverflowError, "%s: the value %R does not fit %s", routine, object, NUMPY_NAMES[array->code]),
           -1;
}

static int integer_take(union value *value, PyObject *object, const struct array *array, const char *routine) {
    if (array->is_bool) { /* numpy's bool is no integer, and any object is true or not */
        int is_true = PyObject_IsTrue(object);
        value->integer = is_true;
        return is_true < 0 ? -1 : 0;
    }
    PyObject *index = PyNumber_Index(object);
    if (index == NULL) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "%s: the value %R is no integer; the array has %s", routine, object,
                            NUMPY_NAMES[array->code]),
               -1;
    }
    int bits = (int)array->size * 8, is_signed = array->code % 2 == 0;
    if (!is_signed && bits == 64) {
        value->integer = (int64_t)PyLong_AsUnsignedLongLong(index);
    } else {
        value->integer = PyLong_AsLongLong(index);
    }
    Py_DecRef(index);
    if (value->integer == -1 && PyErr_Occurred()) return does_not_fit(object, array, routine);
    if (bits < 64) {
        int64_t least = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
        int64_t most = ((int64_t)1 << (bits - is_signed)) - 1;
        if (value->integer < least || value->integer > most) return does_not_fit(object, array, routine);
    }
    return 0;
}

static int is_a(PyObject *object, PyObject *type) {
    PyObject *own = PyObject_Type(object);
    int is_one = PyType_IsSubtype(own, type);
    Py_DecRef(own);
    return is_one;
}

/* Places of the fraction of a double behind those of a half, and what the exponents of both differ by. */
enum { HALF_SHIFT = 42, HALF_BIAS = (1023 - 15) << 10 };

/* Rounds to the nearest half, and to the even one of two, as numpy. 0: it is too large for one. */
static int half_take(uint16_t *half, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint64_t sign = bits >> 48 & 0x8000, size = bits & INT64_MAX;
    double distance = __builtin_fabs(number);
    if (__builtin_isnan(number) || __builtin_isinf(number)) {
        size = 0x7c00 | (size >> HALF_SHIFT & 0x3ff);
        if (__builtin_isnan(number) && size == 0x7c00) size++; /* it would be infinite */
    } else if (distance >= 65520) {
        return 0;
    } else if (distance < 0x1p-14) { /* a multiple of the least one; the sum has no places for a fraction */
        size = (uint64_t)(distance * 0x1p24 + 0x1p52 - 0x1p52);
    } else {
        size = ((size + 0x1ffffffffff + (size >> HALF_SHIFT & 1)) >> HALF_SHIFT) - HALF_BIAS;
    }
    *half = (uint16_t)(sign | size);
    return 1;
}

static double half_give(uint16_t half) {
    uint64_t size = half & 0x7fff, bits;
    double number = (double)size * 0x1p-24;
    if (size >= 0x400) {
        bits = (size >= 0x7c00 ? 0x1ffc00 | size : size + HALF_BIAS) << HALF_SHIFT;
        memcpy(&number, &bits, sizeof number);
    }
    return half & 0x8000 ? -number : number;
}

/* Takes one of Python's numbers for an element that is no integer. 0: numpy has to make it, or to say what is wrong with it. */
static int number_take(union value *value, PyObject *object, const struct array *array) {
    if (array->code < F80 || array->code == OTHER) return 0;
    int is_complex = is_a(object, &PyComplex_Type), is_long = !is_complex && is_a(object, &PyLong_Type);
    if (is_complex ? array->code != C64 && array->code != C128 : !is_long && !is_a(object, &PyFloat_Type)) return 0;
    double parts[2] = {is_complex ? PyComplex_RealAsDouble(object) : PyFloat_AsDouble(object),
                       is_complex ? PyComplex_ImagAsDouble(object) : 0};
    long long integer = is_long && array->code == F80 ? PyLong_AsLongLong(object) : 0; /* more of it than of a double fits */
    if ((parts[0] == -1.0 || integer == -1) && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    if (array->code == C128) {
        memcpy(value->bytes, parts, sizeof parts);
    } else if (array->code == C64) {
        float shorter[2] = {(float)parts[0], (float)parts[1]};
        for (int i = 0; i < 2; i++) {
            if (__builtin_isinf(shorter[i]) && !__builtin_isinf(parts[i])) return 0;
        }
        memcpy(value->bytes, shorter, sizeof shorter);
    } else if (array->code == F80) {
        long double number = is_long ? (long double)integer : (long double)parts[0];
        memset(value->bytes, 0, sizeof value->bytes);
        memcpy(value->bytes, &number, __LDBL_MANT_DIG__ == 64 ? 10 : sizeof number); /* without padding */
    } else {
        uint16_t half;
        if (!half_take(&half, parts[0])) return 0;
        memcpy(value->bytes, &half, sizeof half);
    }
    return 1;
}

/* Takes a number of numpy: its bytes if it has the type of the array, else what it is in Python, where that says all of it. 0: numpy has
 * to convert it. */
static int scalar_take(union value *value, PyObject *object, const struct array *array) {
    Py_buffer own;
    if (!PyObject_CheckBuffer(object)) return 0;
    if (PyObject_GetBuffer(object, &own, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
        PyErr_Clear();
        return 0;
    }
    size_t size = (size_t)own.itemsize;
    int is_bool, is_one = own.ndim == 0 && own.format != NULL && array->buffer.format != NULL;
    enum code code = is_one ? code_of(own.format, size, &is_bool) : OTHER;
    int is_same = is_one && size == array->size && size <= sizeof value->bytes && strcmp(own.format, array->buffer.format) == 0;
    if (is_same) memcpy(value->bytes, own.buf, size);
    PyBuffer_Release(&own);
    if (is_same || code == OTHER || code == F80) return is_same;
    if (array->code == C64 && (code == I64 || code == U64)) return 0; /* a double between the two would be rounded twice */
    PyObject *number = PyObject_CallMethod(object, "item", NULL);
    int is_taken = number != NULL && number_take(value, number, array);
    if (number != NULL) Py_DecRef(number);
    PyErr_Clear();
    return is_taken;
}

int value_take(union value *value, PyObject *object, const struct array *array, const char *routine) {
    if (array->code <= U64) return integer_take(value, object, array, routine);
    if (array->code == F32 || array->code == F64) {
        double number = PyFloat_AsDouble(object);
        if (number == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return PyErr_Format(PyExc_TypeError, "%s: the value %R is no real number, which an array of %s takes", routine,
                                object, NUMPY_NAMES[array->code]),
                   -1;
        }
        if (array->code == F64) {
            value->f64 = number;
        } else {
            value->f32 = (float)number;
            if (__builtin_isinf(value->f32) && !__builtin_isinf(number)) return does_not_fit(object, array, routine);
        }
        return 0;
    }
    if (number_take(value, object, array) || scalar_take(value, object, array)) return 0;
    PyObject *bytes = PyObject_CallFunctionObjArgs(job.to_bytes, object, array->buffer.obj, NULL);
    if (bytes == NULL) return -1;
    char *text;
    Py_ssize_t length;
    int outcome = PyBytes_AsStringAndSize(bytes, &text, &length);
    if (outcome == 0 && ((size_t)length != array->size || (size_t)length > sizeof value->bytes)) {
        PyErr_Format(PyExc_TypeError, "%s: elements of %zd bytes are too long for this call: use put", routine, length);
        outcome = -1;
    }
    if (outcome == 0) memcpy(value->bytes, text, (size_t)length);
    Py_DecRef(bytes);
    return outcome;
}

PyObject *value_give(const union value *value, const struct array *array) {
    float parts[2];
    double longer[2];
    uint16_t half;
    switch (array->code) {
    case F16: return memcpy(&half, value->bytes, sizeof half), PyFloat_FromDouble(half_give(half));
    case C64: return memcpy(parts, value->bytes, sizeof parts), PyComplex_FromDoubles(parts[0], parts[1]);
    case C128: return memcpy(longer, value->bytes, sizeof longer), PyComplex_FromDoubles(longer[0], longer[1]);
    case F32: return PyFloat_FromDouble(value->f32);
    case F64: return PyFloat_FromDouble(value->f64);
    case U64: return PyLong_FromUnsignedLongLong((uint64_t)value->integer);
    case I8: case U8: case I16: case U16: case I32: case U32: case I64:
        return array->is_bool ? PyBool_FromLong(value->integer != 0) : PyLong_FromLongLong(value->integer);
    default: break;
    }
    PyObject *bytes = PyBytes_FromStringAndSize(value->bytes, (Py_ssize_t)array->size);
    if (bytes == NULL) return NULL;
    PyObject *given = PyObject_CallFunctionObjArgs(job.from_bytes, bytes, array->buffer.obj, NULL);
    Py_DecRef(bytes);
    return given;
}
