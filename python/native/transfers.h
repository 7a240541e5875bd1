/* Transfers: one function for each family of routines that takes arguments of one kind. Included by core.c. */

/* Whether p and g move the bytes: an element of a type without routines of its own, or one that lies where these routines, which touch
 * whole words, do not find it. */
static int is_moved_as_bytes(const struct array *array) {
    return array->code > F64 || (uintptr_t)array->address % array->size != 0;
}

static struct routine move_bytes[2] = {{"p", "shmem_ctx_putmem%s", 0, 0, {NULL}, {NULL}},
                                       {"g", "shmem_ctx_getmem%s", 1, 0, {NULL}, {NULL}}};

/* p: dest, value, pe */
static PyObject *put_one(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"dest", "value", "pe", "ctx", "index", NULL};
    PyObject *given[MOST_ARGUMENTS];
    struct array dest;
    struct ctx ctx;
    union value value;
    int pe;
    PyObject *done = NULL;
    if (sort(routine->name, names, 3, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&dest, given[0], SYMMETRIC, routine->name, "dest") < 0) return NULL;
    if (array_at(&dest, given[4], routine->name) < 0 || ctx_before_index_take(&ctx, given[3], routine->name) < 0) goto out;
    if (pe_take(&pe, given[2], &ctx, routine->name) < 0) goto out;
    if (value_take(&value, given[1], &dest, routine->name) < 0) goto out;
    if (is_moved_as_bytes(&dest)) { /* the machine is little-endian, so the first bytes are those of the element */
        void (*put)(void *, void *, const void *, size_t, int) = only(&move_bytes[0]);
        put(ctx.handle, dest.address, value.bytes, dest.size, pe);
    } else {
        void *f = by_type(routine, &dest);
        if (f == NULL) goto out;
        BY_TYPE(dest, ((void (*)(void *, T *, T, int))f)(ctx.handle, (T *)dest.address, IN(value), pe))
    }
    done = none();
out:
    array_release(&dest);
    return done;
}

/* g: source, pe */
static PyObject *get_one(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"source", "pe", "ctx", "index", NULL};
    PyObject *given[MOST_ARGUMENTS];
    struct array source;
    struct ctx ctx;
    union value value;
    int pe;
    PyObject *done = NULL;
    if (sort(routine->name, names, 2, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&source, given[0], SYMMETRIC, routine->name, "source") < 0) return NULL;
    if (array_at(&source, given[3], routine->name) < 0 || ctx_before_index_take(&ctx, given[2], routine->name) < 0) goto out;
    if (pe_take(&pe, given[1], &ctx, routine->name) < 0) goto out;
    int far = is_long(0, pe, &ctx);
    if (is_moved_as_bytes(&source)) {
        if (source.size > sizeof value.bytes) {
            PyErr_Format(PyExc_TypeError, "%s: elements of %zd bytes are too long for this call: use get", routine->name,
                         (Py_ssize_t)source.size);
            goto out;
        }
        void (*get)(void *, void *, const void *, size_t, int) = only(&move_bytes[1]);
        ASIDE(far, get(ctx.handle, value.bytes, source.address, source.size, pe));
        if (source.code <= F64) BY_TYPE(source, T element; memcpy(&element, value.bytes, sizeof element); OUT(value, element))
    } else {
        void *f = by_type(routine, &source);
        if (f == NULL) goto out;
        BY_TYPE(source,
                ASIDE(far, OUT(value, ((T(*)(void *, const T *, int))f)(ctx.handle, (const T *)source.address, pe))))
    }
    done = value_give(&value, &source);
out:
    array_release(&source);
    return done;
}

/* The dtype that numpy finds in a buffer: a new reference, or NULL with an exception. */
static PyObject *dtype_in(const struct array *array) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *seen = numpy == NULL ? NULL : PyObject_CallMethod(numpy, "asarray", "O", array->buffer.obj);
    PyObject *dtype = seen == NULL ? NULL : PyObject_GetAttrString(seen, "dtype");
    if (seen != NULL) Py_DecRef(seen);
    if (numpy != NULL) Py_DecRef(numpy);
    return dtype;
}

/* Whether two types are one, where one of them has no code. Numpy writes one dtype in two ways if one of the arrays is not
 * aligned, so formats that differ may say the same. */
static int is_same_other(const struct array *dest, const struct array *source) {
    enum { EQUAL = 2 };
    const char *into = dest->buffer.format, *from = source->buffer.format;
    if (into != NULL && from != NULL && strcmp(into, from) == 0) return 1;
    PyObject *one = dtype_in(dest), *other = one == NULL ? NULL : dtype_in(source);
    int is_same = other != NULL && PyObject_RichCompareBool(one, other, EQUAL) == 1;
    PyErr_Clear();
    if (other != NULL) Py_DecRef(other);
    if (one != NULL) Py_DecRef(one);
    return is_same;
}

/* A long double has no code where it is not aligned. */
static int is_one_type(const struct array *dest, const struct array *source) {
    return dest->size == source->size && dest->is_bool == source->is_bool &&
           ((dest->code == source->code && dest->code != OTHER) || is_same_other(dest, source));
}

/* Whether the elements of both are of one type and lie in one order; a single one lies in both. What a put sends can be converted; what
 * a get reads is memory of another PE, so that its destination is made anew. */
static int is_same_type(const struct array *dest, const struct array *source, const char *routine, int is_get) {
    if (dest->is_fortran != source->is_fortran && dest->count > 1 && source->count > 1) {
        const char *remedy = is_get ? (source->is_fortran ? "make dest with order='F'" : "make dest with order='C'")
                             : dest->is_fortran ? "pass numpy.asfortranarray(source)"
                                                : "pass numpy.ascontiguousarray(source)";
        PyErr_Format(PyExc_ValueError,
                     "%s: the elements of dest lie in order %s and those of source in order %s, so they would change places: %s", routine,
                     dest->is_fortran ? "F" : "C", source->is_fortran ? "F" : "C", remedy);
        return 0;
    }
    if (is_one_type(dest, source)) return 1;
    PyObject *into = array_type(dest), *from = into == NULL ? NULL : array_type(source);
    if (from != NULL) {
        const char *bytes = array_is_swapped(dest) != array_is_swapped(source) ? ", whose bytes have another order" : "";
        if (is_get) {
            PyErr_Format(PyExc_TypeError,
                         "%s: dest has %S and source has %S%s: make dest with dtype %S, as numpy.empty(n, source.dtype)", routine, into,
                         from, bytes, from);
        } else {
            PyErr_Format(PyExc_TypeError, "%s: dest has %S and source has %S%s: convert source, as source.astype(dest.dtype)", routine,
                         into, from, bytes);
        }
        Py_DecRef(from);
    }
    if (into != NULL) Py_DecRef(into);
    return 0;
}

/* put, get and their nonblocking forms: dest, source, pe. `values`: it is a get; `fetches`: nonblocking. Slices of one dimension with a
 * stride become iput and iget, for which there is a nonblocking form nowhere. */
static PyObject *move(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"dest", "source", "pe", "ctx", NULL};
    static struct routine strided[2] = {{"put", "shmem_ctx_iput%s", 0, 0, {NULL}, {NULL}},
                                        {"get", "shmem_ctx_iget%s", 1, 0, {NULL}, {NULL}}};
    PyObject *given[MOST_ARGUMENTS];
    struct array dest, source;
    struct ctx ctx;
    int pe, is_get = routine->values;
    PyObject *done = NULL;
    if (sort(routine->name, names, 3, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&dest, given[0], is_get ? WRITABLE : SYMMETRIC, routine->name, "dest") < 0) return NULL;
    if (array_take(&source, given[1], is_get ? SYMMETRIC : LOCAL_SOURCE, routine->name, "source") < 0) goto without;
    if (ctx_take(&ctx, given[3], routine->name) < 0 || pe_take(&pe, given[2], &ctx, routine->name) < 0) goto out;
    if (!is_same_type(&dest, &source, routine->name, is_get)) goto out;
    if (dest.count < source.count) {
        Py_ssize_t room = (Py_ssize_t)dest.count, needed = (Py_ssize_t)source.count;
        if (source.buffer.ndim > 1) { /* a slice counts its rows */
            PyErr_Format(PyExc_ValueError,
                         "%s: dest has %zd elements and source has %zd: take a part of source that has no more elements than dest",
                         routine->name, room, needed);
        } else {
            PyErr_Format(PyExc_ValueError, "%s: dest has %zd elements and source has %zd: take a slice of source, as source[:%zd]",
                         routine->name, room, needed, room);
        }
        goto out;
    }
    size_t bytes = source.count * source.size;
    if (source.count == 0) {
        done = none();
        goto out;
    }
    if (dest.stride != 1 || source.stride != 1) {
        if (dest.stride == 0 || source.stride == 0) {
            int is_source = source.stride == 0;
            PyErr_Format(PyExc_ValueError,
                         "%s: all elements of %s are one number in memory (stride 0, as numpy.broadcast_to makes it): pass %s",
                         routine->name, is_source ? "source" : "dest",
                         is_source && !is_get ? "source.copy()" : "an array whose elements have places of their own");
            goto out;
        }
        if (dest.stride < 1 || source.stride < 1) {
            int is_source = source.stride < 1;
            const char *remedy = is_get      ? "get it forwards, and reverse it afterwards"
                                 : is_source ? "pass source.copy()"
                                             : "pass dest forwards, and source[::-1].copy()";
            PyErr_Format(PyExc_ValueError, "%s: %s is a slice with a negative stride, which cannot be transferred: %s", routine->name,
                         is_source ? "source" : "dest", remedy);
            goto out;
        }
        void *f = by_size(&strided[is_get], &dest);
        if (f == NULL) goto out;
        ASIDE(is_long(bytes, pe, &ctx), ((void (*)(void *, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int))f)(
                                            ctx.handle, dest.address, source.address, dest.stride, source.stride,
                                            source.count, pe));
    } else {
            ASIDE(is_long(bytes, pe, &ctx), ((void (*)(void *, void *, const void *, size_t, int))only(routine))(
                                            ctx.handle, dest.address, source.address, bytes, pe));
    }
    if (routine->fetches && keep(given[!is_get], pe, given[3], ctx.handle) < 0) goto out;
    done = none();
out:
    array_release(&source);
without:
    array_release(&dest);
    return done;
}

/* The elements from the first to the last one that a strided transfer touches lie in the array. */
static int fits(const struct array *array, Py_ssize_t stride, Py_ssize_t block, Py_ssize_t blocks, const char *routine,
                const char *argument, const char *remedy) {
    if (!array_is_solid(array, routine, argument)) return 0;
    if (stride < 1 || block < 0 || blocks < 0) {
        PyErr_Format(PyExc_ValueError, "%s: strides are at least 1 and numbers of elements at least 0", routine);
        return 0;
    }
    size_t most = array->count;
    if (blocks == 0 || block == 0) return 1;
    if ((size_t)block > most || (blocks > 1 && (size_t)stride > (most - (size_t)block) / (size_t)(blocks - 1))) {
        if (block == 1) {
            PyErr_Format(PyExc_ValueError, "%s: %zd elements, %zd from one to the next, reach past the %zd of %s%s", routine, blocks,
                         stride, (Py_ssize_t)most, argument, remedy);
        } else {
            PyErr_Format(PyExc_ValueError, "%s: %zd blocks of %zd elements, %zd from one to the next, reach past the %zd of %s%s",
                         routine, blocks, block, stride, (Py_ssize_t)most, argument, remedy);
        }
        return 0;
    }
    return 1;
}

/* iput, iget: dest, source, pe, dst, sst, nelems, without which all of source[::sst] is moved; ibput, ibget: dest, source, pe, dst, sst, bsize, nblocks. `fetches`: blocks. */
static PyObject *move_strided(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const single[] = {"dest", "source", "pe", "dst", "sst", "nelems", "ctx", NULL};
    static const char *const blocks[] = {"dest", "source", "pe", "dst", "sst", "bsize", "nblocks", "ctx", NULL};
    PyObject *given[MOST_ARGUMENTS];
    struct array dest, source;
    struct ctx ctx;
    int pe, is_get = routine->values, has_blocks = routine->fetches;
    Py_ssize_t dst, sst, size = 1, number;
    PyObject *done = NULL;
    if (sort(routine->name, has_blocks ? blocks : single, has_blocks ? 7 : 3, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&dest, given[0], is_get ? WRITABLE : SYMMETRIC, routine->name, "dest") < 0) return NULL;
    if (array_take(&source, given[1], is_get ? SYMMETRIC : LOCAL_SOURCE, routine->name, "source") < 0) goto without;
    if (ctx_take(&ctx, given[has_blocks ? 7 : 6], routine->name) < 0 || pe_take(&pe, given[2], &ctx, routine->name) < 0) goto out;
    if (!is_same_type(&dest, &source, routine->name, is_get)) goto out;
    if (integer_or(&dst, given[3], 1, routine->name, "dst") < 0 || integer_or(&sst, given[4], 1, routine->name, "sst") < 0) goto out;
    if (has_blocks && integer_or(&size, given[5], 1, routine->name, "bsize") < 0) goto out;
    PyObject *wanted = given[has_blocks ? 6 : 5];
    size_t all = sst < 1 ? 0 : (source.count + (size_t)sst - 1) / (size_t)sst;
    if (integer_or(&number, wanted, (Py_ssize_t)all, routine->name, has_blocks ? "nblocks" : "nelems") < 0) goto out;
    const char *remedy = wanted == NULL ? ": pass a slice of source, or nelems" : "";
    if (!fits(&dest, dst, size, number, routine->name, "dest", remedy)) goto out;
    if (!fits(&source, sst, size, number, routine->name, "source", "")) goto out;
    void *f = by_size(routine, &dest);
    if (f == NULL) goto out;
    size_t bytes = (size_t)(size * number) * dest.size;
    if (has_blocks) {
        ASIDE(is_long(bytes, pe, &ctx),
              ((void (*)(void *, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int))f)(
                  ctx.handle, dest.address, source.address, dst, sst, (size_t)size, (size_t)number, pe));
    } else {
        ASIDE(is_long(bytes, pe, &ctx), ((void (*)(void *, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int))f)(
                                            ctx.handle, dest.address, source.address, dst, sst, (size_t)number, pe));
    }
    done = none();
out:
    array_release(&source);
without:
    array_release(&dest);
    return done;
}

/* A signal: a symmetric array of uint64, whose first element it is. */
static int signal_take(struct array *array, PyObject *object, const char *routine) {
    if (array_take(array, object, SYMMETRIC, routine, "signal") < 0) return -1;
    if (array->code == U64 && array->count > 0 && array_is_aligned(array, routine, "signal")) return 0;
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%s: a signal is a symmetric array of uint64: make it with oxshmem.new_signal", routine);
    }
    array_release(array);
    return -1;
}

/* put_signal, put_signal_nbi: dest, source, pe, signal, value, op */
static PyObject *move_signal(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"dest", "source", "pe", "signal", "value", "op", "ctx", NULL};
    PyObject *given[MOST_ARGUMENTS];
    struct array dest, source, signal;
    struct ctx ctx;
    union value value;
    int pe;
    Py_ssize_t op;
    PyObject *done = NULL;
    if (sort(routine->name, names, 5, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&dest, given[0], SYMMETRIC, routine->name, "dest") < 0) return NULL;
    if (array_take(&source, given[1], LOCAL_SOURCE, routine->name, "source") < 0) goto one;
    if (signal_take(&signal, given[3], routine->name) < 0) goto two;
    if (ctx_take(&ctx, given[6], routine->name) < 0 || pe_take(&pe, given[2], &ctx, routine->name) < 0) goto out;
    if (!is_same_type(&dest, &source, routine->name, 0) || value_take(&value, given[4], &signal, routine->name) < 0) goto out;
    if (!array_is_solid(&dest, routine->name, "dest") || !array_is_solid(&source, routine->name, "source")) goto out;
    if (integer_or(&op, given[5], 0, routine->name, "op") < 0) { /* a word, for example */
        PyErr_Clear();
        op = -1;
    }
    if (op != 0 && op != 1) {
        PyErr_Format(PyExc_ValueError, "%s: op is oxshmem.SIGNAL.SET or oxshmem.SIGNAL.ADD", routine->name);
        goto out;
    }
    if (dest.count < source.count) {
        PyErr_Format(PyExc_ValueError, "%s: dest has %zd elements and source has %zd", routine->name, (Py_ssize_t)dest.count,
                     (Py_ssize_t)source.count);
        goto out;
    }
    size_t bytes = source.count * source.size;
    ASIDE(is_long(bytes, pe, &ctx),
          ((void (*)(void *, void *, const void *, size_t, uint64_t *, uint64_t, int, int))only(routine))(
              ctx.handle, dest.address, source.address, bytes, (uint64_t *)signal.address, (uint64_t)value.integer, (int)op, pe));
    if (routine->fetches && keep(given[1], pe, given[6], ctx.handle) < 0) goto out;
    done = none();
out:
    array_release(&signal);
two:
    array_release(&source);
one:
    array_release(&dest);
    return done;
}
