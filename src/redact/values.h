/* The forms in which an exact value can turn up: base64, hexadecimal, escaped for URLs, JSON,
 * shells and XML. */
#ifndef NACRE_REDACT_VALUES_H
#define NACRE_REDACT_VALUES_H

#include "base/buf.h"
#include "redact/redact.h"

enum {
    VALUE_PART_MAX = 1024, /* a longer value is looked for in parts of this length */
    VALUE_LINE_MIN = 12,   /* a line of a value that is looked for by itself */
    VALUE_FORMS_MAX = 32,
};

struct value_form {
    size_t offset, len; /* in the texts */
    uint8_t flags;      /* TEXT_… */
};

/* Room that the forms of a value of this length need at most. */
size_t value_forms_room(size_t len);

/* Visits each form of each part of a value. Forms are appended to `texts`, which must not have to
 * grow: what it held would be left in freed memory. `visit` returns 0 or a negative errno. */
int value_each_form(const char *bytes, size_t len, struct buf *texts,
                    int (*visit)(void *user, const struct value_form *form), void *user);

#endif
