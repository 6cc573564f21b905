/*
 * YAML as a plain tree with places, read by libfyaml and nothing kept of it.
 *
 * Stricter than YAML 1.2 where a reader of a policy could be surprised: one document, no tabs, no
 * duplicate keys, no anchors, aliases or tags, keys are plain words, UTF-8 only, bounded size and
 * depth. Every refusal says file, line and column.
 */
#ifndef NACRE_BASE_YAML_H
#define NACRE_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
    YAML_BYTES_MAX = 1 << 20,
    YAML_DEPTH_MAX = 16,
};

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;           /* YAML_SCALAR: written in quotes, so never a number, a bool or null */
    uint32_t line, column; /* from 1 */
    const char *text;      /* YAML_SCALAR: ends with NUL, holds none */
    const struct yaml_node *key;   /* of an entry of a map: its key */
    const struct yaml_node *first; /* YAML_LIST, YAML_MAP: the children, linked by `next` */
    const struct yaml_node *next;
};

/* The tree of `bytes` in `arena`; `name` is for messages: "NAME:LINE:COLUMN: what". An empty
 * document is an empty map. */
int yaml_parse(struct arena *arena, const char *name, const char *bytes, size_t len,
               const struct yaml_node **ret, struct err *e);

/* The same from a file: a regular one, at most YAML_BYTES_MAX. */
int yaml_load(struct arena *arena, const char *path, const struct yaml_node **ret, struct err *e);

/* The entry of a map with this key, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* Sets "NAME:LINE:COLUMN: message" and returns -EINVAL. */
int yaml_error(struct err *e, const char *name, const struct yaml_node *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
