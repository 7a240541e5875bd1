/* Atomics, waits and signals: one function for each family of routines that takes arguments of one kind. Included by core.c. */

/* Atomics: dest, then so many values, then pe. */
static PyObject *atomic(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[][7] = {{"dest", "pe", "ctx", "index", NULL},
                                           {"dest", "value", "pe", "ctx", "index", NULL},
                                           {"dest", "cond", "value", "pe", "ctx", "index", NULL}};
    int values = routine->values, pe;
    PyObject *given[MOST_ARGUMENTS], *done = NULL;
    struct array dest;
    struct ctx ctx;
    union value a = {0}, b = {0}, out;
    if (sort(routine->name, names[values], values + 2, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&dest, given[0], SYMMETRIC, routine->name, "dest") < 0) return NULL;
    if (array_at(&dest, given[values + 3], routine->name) < 0) goto end;
    if (ctx_before_index_take(&ctx, given[values + 2], routine->name) < 0) goto end;
    if (pe_take(&pe, given[values + 1], &ctx, routine->name) < 0) goto end;
    void *f = by_type(routine, &dest);
    if (f == NULL || !array_is_aligned(&dest, routine->name, "dest")) goto end;
    if (values > 0 && value_take(&a, given[1], &dest, routine->name) < 0) goto end;
    if (values > 1 && value_take(&b, given[2], &dest, routine->name) < 0) goto end;
    int far = routine->fetches && is_long(0, pe, &ctx);
    void *c = ctx.handle;
#define ONE(result)                                                                                         \
    (values == 0   ? ((result(*)(void *, T *, int))f)(c, (T *)dest.address, pe)                             \
     : values == 1 ? ((result(*)(void *, T *, T, int))f)(c, (T *)dest.address, IN(a), pe)                   \
                   : ((result(*)(void *, T *, T, T, int))f)(c, (T *)dest.address, IN(a), IN(b), pe))
    if (routine->fetches) {
        BY_TYPE(dest, ASIDE(far, OUT(out, ONE(T))))
        done = value_give(&out, &dest);
    } else {
        BY_TYPE(dest, ONE(void))
        done = none();
    }
#undef ONE
end:
    array_release(&dest);
    return done;
}

/* What an atomic fetches has the type of what it changes. */
static int is_fetch_of(const struct array *fetch, const struct array *dest, const char *routine) {
    if (is_one_type(fetch, dest)) return 1;
    PyObject *into = array_type(fetch), *from = into == NULL ? NULL : array_type(dest);
    if (from != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "%s: fetch has %S and dest has %S: make fetch with dtype=dest.dtype, as numpy.empty(1, dest.dtype)", routine, into,
                     from);
        Py_DecRef(from);
    }
    if (into != NULL) Py_DecRef(into);
    return 0;
}

/* Nonblocking atomics: fetch, dest, then so many values, then pe. */
static PyObject *atomic_nbi(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[][7] = {{"fetch", "dest", "pe", "ctx", NULL},
                                           {"fetch", "dest", "value", "pe", "ctx", NULL},
                                           {"fetch", "dest", "cond", "value", "pe", "ctx", NULL}};
    int values = routine->values, pe;
    PyObject *given[MOST_ARGUMENTS], *done = NULL;
    struct array fetch, dest;
    struct ctx ctx;
    union value a = {0}, b = {0};
    if (sort(routine->name, names[values], values + 3, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&fetch, given[0], WRITABLE, routine->name, "fetch") < 0) return NULL;
    if (array_take(&dest, given[1], SYMMETRIC, routine->name, "dest") < 0) goto without;
    if (array_at(&fetch, NULL, routine->name) < 0 || array_at(&dest, NULL, routine->name) < 0) goto end;
    if (ctx_take(&ctx, given[values + 3], routine->name) < 0 || pe_take(&pe, given[values + 2], &ctx, routine->name) < 0) goto end;
    void *f = by_type(routine, &dest);
    if (f == NULL || !is_fetch_of(&fetch, &dest, routine->name)) goto end;
    if (!array_is_aligned(&dest, routine->name, "dest")) goto end;
    if (!array_is_aligned(&fetch, routine->name, "fetch")) goto end;
    if (values > 0 && value_take(&a, given[2], &dest, routine->name) < 0) goto end;
    if (values > 1 && value_take(&b, given[3], &dest, routine->name) < 0) goto end;
    void *c = ctx.handle;
    BY_TYPE(dest, T *into = (T *)fetch.address; T *at = (T *)dest.address;
            if (values == 0) ((void (*)(void *, T *, T *, int))f)(c, into, at, pe);
            else if (values == 1) ((void (*)(void *, T *, T *, T, int))f)(c, into, at, IN(a), pe);
            else ((void (*)(void *, T *, T *, T, T, int))f)(c, into, at, IN(a), IN(b), pe))
    if (keep(given[0], pe, given[values + 3], ctx.handle) < 0) goto end;
    done = none();
end:
    array_release(&dest);
without:
    array_release(&fetch);
    return done;
}

/* A comparison: oxshmem.CMP, or "==", "!=", ">", ">=", "<", "<=". */
static int cmp_take(int *cmp, PyObject *object, const char *routine) {
    static const char *const signs[] = {"==", "!=", ">", ">=", "<", "<="}, *const words[] = {"eq", "ne", "gt", "ge", "lt", "le"};
    const char *text = PyUnicode_AsUTF8AndSize(object, NULL);
    if (text == NULL) {
        PyErr_Clear();
        long long number = whole_number(object);
        if (number >= 1 && number <= 6) return *cmp = (int)number, 0;
        PyErr_Clear();
    } else {
        for (int i = 0; i < 6; i++) {
            if (strcmp(text, signs[i]) == 0 || strcasecmp(text, words[i]) == 0) return *cmp = i + 1, 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "%s: %R is no comparison: it is one of \"==\", \"!=\", \">\", \">=\", \"<\", \"<=\", or of "
                                   "oxshmem.CMP",
                 routine, object);
    return -1;
}

/* wait_until, test: ivar, cmp, value. `fetches`: it is test. */
static PyObject *wait_one(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"ivar", "cmp", "value", "index", NULL};
    PyObject *given[MOST_ARGUMENTS], *done = NULL;
    struct array ivar;
    union value value;
    int cmp, is_test = routine->fetches, holds = 0;
    if (sort(routine->name, names, 3, args, count, kwnames, given) < 0) return NULL;
    if (array_take(&ivar, given[0], SYMMETRIC, routine->name, "ivar") < 0) return NULL;
    if (array_at(&ivar, given[3], routine->name) < 0 || cmp_take(&cmp, given[1], routine->name) < 0) goto end;
    void *f = by_type(routine, &ivar);
    if (f == NULL || !array_is_aligned(&ivar, routine->name, "ivar")) goto end;
    if (value_take(&value, given[2], &ivar, routine->name) < 0) goto end;
    if (is_test) {
        BY_TYPE(ivar, holds = ((int (*)(T *, int, T))f)((T *)ivar.address, cmp, IN(value)))
        done = PyBool_FromLong(holds);
    } else {
        BY_TYPE(ivar, ASIDE(1, ((void (*)(T *, int, T))f)((T *)ivar.address, cmp, IN(value))))
        done = PyErr_Occurred() ? NULL : none(); /* a handler of a signal may have raised it */
    }
end:
    array_release(&ivar);
    return done;
}

/* signal_set, signal_add: signal, value, pe */
static PyObject *signal_send(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"signal", "value", "pe", "ctx", NULL};
    PyObject *given[MOST_ARGUMENTS], *done = NULL;
    struct array signal;
    struct ctx ctx;
    union value value;
    int pe;
    if (sort(routine->name, names, 3, args, count, kwnames, given) < 0) return NULL;
    if (signal_take(&signal, given[0], routine->name) < 0) return NULL;
    if (ctx_take(&ctx, given[3], routine->name) < 0 || pe_take(&pe, given[2], &ctx, routine->name) < 0) goto end;
    if (value_take(&value, given[1], &signal, routine->name) < 0) goto end;
    ((void (*)(void *, uint64_t *, uint64_t, int))only(routine))(ctx.handle, (uint64_t *)signal.address,
                                                                     (uint64_t)value.integer, pe);
    done = none();
end:
    array_release(&signal);
    return done;
}

/* signal_wait_until: signal, cmp, value; signal_fetch (`fetches`): signal */
static PyObject *signal_look(struct routine *routine, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
    static const char *const names[] = {"signal", "cmp", "value", NULL}, *const alone[] = {"signal", NULL};
    PyObject *given[MOST_ARGUMENTS], *done = NULL;
    struct array signal;
    union value value;
    int cmp, is_fetch = routine->fetches;
    uint64_t seen;
    if (sort(routine->name, is_fetch ? alone : names, is_fetch ? 1 : 3, args, count, kwnames, given) < 0) return NULL;
    if (signal_take(&signal, given[0], routine->name) < 0) return NULL;
    void *f = only(routine);
    if (is_fetch) {
        seen = ((uint64_t(*)(const uint64_t *))f)((const uint64_t *)signal.address);
    } else {
        if (cmp_take(&cmp, given[1], routine->name) < 0) goto end;
        if (value_take(&value, given[2], &signal, routine->name) < 0) goto end;
        ASIDE(1, seen = ((uint64_t(*)(uint64_t *, int, uint64_t))f)((uint64_t *)signal.address, cmp, (uint64_t)value.integer));
        if (PyErr_Occurred()) goto end; /* a handler of a signal has raised it */
    }
    done = PyLong_FromUnsignedLongLong(seen);
end:
    array_release(&signal);
    return done;
}
