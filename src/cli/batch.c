/* Many texts on standard input; see batch.h. */
#include "cli/batch.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

static void use_line(const char *line, size_t len, batch_use *use, void *user)
{
    json_error_t error;
    json_t *value = json_loadb(line, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    char failure[sizeof(error.text) + 32];
    if (json_is_string(value)) {
        use(user, json_string_value(value), json_string_length(value), NULL);
    } else {
        snprintf(failure, sizeof(failure), "not a JSON string: %s",
                 value ? "another kind of value"
                 : len ? error.text
                       : "an empty line");
        use(user, NULL, 0, failure);
    }
    json_decref(value);
}

int batch_each(batch_use *use, void *user, struct err *e)
{
    if (cli_stdin_is_closed())
        return err_set(e, -EBADF, "standard input is closed");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    errno = 0;
    while ((len = getline(&line, &capacity, stdin)) > 0) {
        if (line[len - 1] == '\n')
            len--;
        use_line(line, (size_t)len, use, user);
        errno = 0;
    }
    int failure = ferror(stdin) || errno == ENOMEM ? -(errno ? errno : EIO) : 0;
    free(line);
    return failure ? err_errno(e, failure, "standard input") : 0;
}
