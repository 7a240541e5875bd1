/* The lines of Python that call, for reports and profiles of the library. */
#ifndef OXSHMEM_PLACES_H
#define OXSHMEM_PLACES_H

#include "python.h"

/* The words of this thread in which the library looks for its line, and whether every call has to fill it in. */
struct lines {
    const char **(*word)(void);
    int of_all_calls;
};
extern struct lines lines;

/* Finds the library's function, and takes the module's name of its own file: frames of its folder are not the program's. */
void lines_prepare(const char *own_file);

/* Writes the line of the program that makes a call, until line_end. Gives the word, or NULL if it was written already. */
const char **line_begin(void);

static inline void line_end(const char **word) {
    if (word != NULL) *word = NULL;
}

/* Takes its line from the thread, which runs other lines of the program inside of the call. Gives what line_return takes. */
static inline const char *line_take(void) {
    if (lines.word == NULL) return NULL;
    const char **word = lines.word(), *line = *word;
    *word = NULL;
    return line;
}

static inline void line_return(const char *line) {
    if (lines.word != NULL) *lines.word() = line;
}

#endif
