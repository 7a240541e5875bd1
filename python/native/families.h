/* The library's routines, looked up by name at the first call with an element type. Included by core.c. */

/* A family of routines: `pattern` has a place for `ctx_` and one for the element type. */
struct routine {
    const char *name, *pattern;
    int values; /* elements that the call takes by value, or what else the family says */
    int fetches;
    void *found[CODES];
    void *sized[5]; /* 1, 2, 4, 8 and 16 bytes, for families that know sizes only */
};

static void *look_up(const struct routine *routine, const char *type) {
    char name[96];
    snprintf(name, sizeof name, routine->pattern, type);
    return dlsym(RTLD_DEFAULT, name);
}

/* Looks a routine up once. Two threads may do it at once, without Python's lock: both find the same. */
static void *remembered(void **found, const struct routine *routine, const char *type) {
    void *known = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (known != NULL) return known;
    known = look_up(routine, type);
    __atomic_store_n(found, known, __ATOMIC_RELAXED);
    return known;
}

/* The routine for an element type. Operators of bits know signed integers by the names int32 and int64 alone. */
static void *for_code(struct routine *routine, int code) {
    void *known = remembered(&routine->found[code], routine, C_NAMES[code]);
    return known == NULL && code <= U64 ? remembered(&routine->found[code], routine, NUMPY_NAMES[code]) : known;
}

/* The exception for elements that a family does not take. */
__attribute__((cold)) static void refuse_type(struct routine *routine, const struct array *array) {
    char list[200] = "";
    for (int code = 0; code < CODES; code++) {
        if (for_code(routine, code) == NULL) continue;
        if (*list) strcat(list, ", ");
        strcat(list, NUMPY_NAMES[code]);
    }
    PyObject *own = array_type(array);
    if (own == NULL) return;
    PyErr_Format(PyExc_TypeError, "%s: the array has %S; this call takes %s: make it with dtype=int%s%s", routine->name, own, list,
                 array_is_swapped(array) ? ", or another dtype in the byte order of this machine" : "",
                 strstr(routine->name, "_add") != NULL ? "; sum_reduce adds floats, and so do g and p under an oxshmem.Lock" : "");
    Py_DecRef(own);
}

static void *by_type(struct routine *routine, const struct array *array) {
    void *known = array->code < CODES ? for_code(routine, (int)array->code) : NULL;
    if (known == NULL) refuse_type(routine, array);
    return known;
}

static void *by_size(struct routine *routine, const struct array *array) {
    static const char *const names[] = {"8", "16", "32", "64", "128"};
    int place = 0;
    while (place < 5 && (size_t)1 << place != array->size) place++;
    if (place == 5) {
        PyErr_Format(PyExc_TypeError, "%s: elements of %zd bytes; this call takes elements of 1, 2, 4, 8 or 16 bytes",
                     routine->name, (Py_ssize_t)array->size);
        return NULL;
    }
    return remembered(&routine->sized[place], routine, names[place]);
}

/* The one routine of a family without types. */
static void *only(struct routine *routine) { return remembered(&routine->found[0], routine, ""); }
