/* Errors with context; see err.h. Messages are cut, never overrun. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void format_message(struct err *e, int code,
                                                                 const char *format, va_list args)
{
    e->code = code;
    if (vsnprintf(e->message, sizeof(e->message), format, args) < 0)
        e->message[0] = '\0';
}

int err_set(struct err *e, int code, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        format_message(e, code, format, args);
        va_end(args);
    }
    return code;
}

int err_errno(struct err *e, int code, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        format_message(e, code, format, args);
        va_end(args);

        size_t used = strlen(e->message);
        snprintf(e->message + used, sizeof(e->message) - used, ": %s", strerror(-code));
    }
    return code;
}

int err_context(struct err *e, int code, const char *format, ...)
{
    if (!e)
        return code;

    char inner[ERR_MESSAGE_MAX];
    memcpy(inner, e->message, sizeof(inner));

    va_list args;
    va_start(args, format);
    format_message(e, code, format, args);
    va_end(args);

    size_t used = strlen(e->message);
    snprintf(e->message + used, sizeof(e->message) - used, ": %s", inner);
    return code;
}
