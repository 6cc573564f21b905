/*
 * bash's own tree as text; README.md has the form. Includes bash's headers, and so comes first.
 */
#ifndef NACRE_TESTS_TREE_H
#define NACRE_TESTS_TREE_H

#include <config.h>

#include <stdbool.h>
#include <stddef.h>

#include <builtins.h>
#include <shell.h>

/* Bytes that grow. */
struct bytes {
    char *data;
    size_t len;
    size_t room;
};

void bytes_reserve(struct bytes *b, size_t more);
void bytes_add(struct bytes *b, const void *data, size_t len);
void bytes_text(struct bytes *b, const char *text);
void bytes_number(struct bytes *b, long long number);
int write_all(int fd, const char *data, size_t len);
void add_frame(struct bytes *b, const char *kind, const char *data, size_t len);

struct dump {
    struct bytes out;
    bool with_lines;
    /* Set when the tree has a shape that this file does not know. */
    const char *unknown;
};

/* One part of a list, a chain or a pipeline; what `mark` means is told at each flatten function. */
struct part {
    COMMAND *command;
    int mark;
};

struct parts {
    struct part *items;
    size_t len;
    size_t room;
};

enum connection_class { CONNECTION_NONE, CONNECTION_LIST, CONNECTION_CHAIN, CONNECTION_PIPE };

/* All parts of a list, a chain or a pipeline, whichever way bash has nested them. */
void flatten(struct parts *parts, COMMAND *root, enum connection_class class);
void write_parts_as_list(struct dump *d, const struct parts *parts);

#endif
