/* A place is found by the code object and the instruction in it, which costs some ten nanoseconds; its line is looked up once.
 * Places stay for ever, so the library can keep their text as long as it likes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

#define PLACES 4096
#define PROBES 16

struct place {
    PyObject *code; /* kept, so that no other one gets its address */
    int at, is_ours;
    char text[64];
};

struct lines lines;
static struct place places[PLACES];
static char is_writing;
static char *own_folder;
static __thread const char **own_word;

void lines_prepare(const char *own_file) {
    *(void **)&lines.word = dlsym(RTLD_DEFAULT, "oxshmem_program_line");
    lines.of_all_calls = lines.word != NULL && getenv("OXSHMEM_PROFILE") != NULL;
    const char *end = own_file == NULL ? NULL : strrchr(own_file, '/');
    free(own_folder);
    own_folder = end == NULL ? NULL : strndup(own_file, (size_t)(end - own_file) + 1);
}

/* An attribute of a code object; NULL if it cannot be had. */
static const char *attribute(PyObject *code, const char *name, PyObject **holder) {
    *holder = PyObject_GetAttrString(code, name);
    const char *text = *holder == NULL ? NULL : PyUnicode_AsUTF8AndSize(*holder, NULL);
    if (text == NULL) PyErr_Clear();
    return text;
}

/* How many bytes of a text have room, `most` at most. A character of several bytes is not cut: the rest would be no text. */
static int room(const char *text, int most) {
    int length = (int)strnlen(text, (size_t)most + 1);
    if (length <= most) return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
    return most;
}

static void describe(struct place *place, PyObject *code, PyObject *frame) {
    PyObject *file_holder, *name_holder;
    const char *file = attribute(code, "co_filename", &file_holder), *name = attribute(code, "co_name", &name_holder);
    if (file == NULL) file = "?";
    place->is_ours = own_folder != NULL && strncmp(file, own_folder, strlen(own_folder)) == 0;
    const char *base = strrchr(file, '/');
    base = base == NULL ? file : base + 1;
    int is_function = name != NULL && strcmp(name, "<module>") != 0;
    if (!is_function) name = "";
    snprintf(place->text, sizeof place->text, "%.*s%s%.*s:%d", room(name, 22), name, is_function ? " at " : "", room(base, 28), base,
             PyFrame_GetLineNumber(frame));
    if (file_holder != NULL) Py_DecRef(file_holder);
    if (name_holder != NULL) Py_DecRef(name_holder);
}

/* The place of a frame; NULL if there is no room for more. */
static struct place *find(PyObject *frame) {
    PyObject *code = PyFrame_GetCode(frame);
    /* Before 3.11 there is no such function; the line serves as well and takes longer. */
    int at = PyFrame_GetLasti != NULL ? PyFrame_GetLasti(frame) : PyFrame_GetLineNumber(frame);
    size_t first = (((size_t)code >> 4) ^ (size_t)at) * 0x9e3779b97f4a7c15u >> 40;
    struct place *found = NULL;
    for (size_t probe = 0; found == NULL && probe < PROBES; probe++) {
        struct place *place = &places[(first + probe) % PLACES];
        PyObject *known = __atomic_load_n(&place->code, __ATOMIC_ACQUIRE);
        if (known == NULL) {
            /* Without Python's lock another thread may be writing one: it is not worth waiting for. */
            if (__atomic_test_and_set(&is_writing, __ATOMIC_ACQUIRE)) break;
            if (__atomic_load_n(&place->code, __ATOMIC_RELAXED) == NULL) {
                place->at = at;
                describe(place, code, frame);
                Py_IncRef(code);
                __atomic_store_n(&place->code, code, __ATOMIC_RELEASE);
            }
            __atomic_clear(&is_writing, __ATOMIC_RELEASE);
            known = place->code;
        }
        if (known == code && place->at == at) found = place;
    }
    Py_DecRef(code);
    return found;
}

const char **line_begin(void) {
    if (lines.word == NULL) return NULL;
    if (own_word == NULL) own_word = lines.word();
    if (*own_word != NULL) return NULL;
    PyObject *frame = PyEval_GetFrame();
    if (frame == NULL) return NULL;
    Py_IncRef(frame);
    while (frame != NULL) {
        struct place *place = find(frame);
        if (place != NULL && !place->is_ours) *own_word = place->text;
        PyObject *caller = place != NULL && place->is_ours ? PyFrame_GetBack(frame) : NULL;
        Py_DecRef(frame);
        frame = caller;
    }
    return own_word;
}

/* The line at which the thread is, for an error of the library in a call that has not told it. Only who holds Python's lock, or is
 * attached in a build without one, can look. When Python has ended, PyGILState_Check says that every thread holds the lock. */
__attribute__((visibility("default"))) const char *oxshmem_interpreter_line(void) {
    if (!Py_IsInitialized() || !PyGILState_Check()) return NULL;
    const char **word = line_begin();
    const char *line = word == NULL ? NULL : *word;
    line_end(word);
    return line;
}
