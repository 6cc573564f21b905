/* Paths as text: no file system is asked. */
#ifndef NACRE_BASE_PATH_H
#define NACRE_BASE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Whether `path` is `dir` or lies below it; both absolute and without `.`, `..` or a last slash. */
static inline bool path_is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

#endif
