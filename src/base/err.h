/*
 * Errors: a negative errno as the return value, and a message with its context in a fixed buffer
 * that the caller owns, so that reporting an error cannot itself fail.
 *
 * Functions that can fail take a `struct err *` last and leave it alone on success. Each layer may
 * put its context in front: "workspace '/srv/x': cannot open: No such file or directory".
 * A null pointer is accepted everywhere: the caller does not want the message.
 */
#ifndef NACRE_BASE_ERR_H
#define NACRE_BASE_ERR_H

#define ERR_MESSAGE_MAX 512

struct err {
    int code; /* negative errno, 0 when nothing was reported */
    char message[ERR_MESSAGE_MAX];
};

/* Sets the message and returns `code`, so that `return err_set(e, -EINVAL, …)` reads well. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the system's text for `code` behind the message. */
int err_errno(struct err *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the message that is there; returns `code`, which is its code. */
int err_context(struct err *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
