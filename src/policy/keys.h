/*
 * The keys of a configuration: one table that the loader, the canonical form, `policy show` and the
 * rule that a project's files only tighten all read.
 */
#ifndef NACRE_POLICY_KEYS_H
#define NACRE_POLICY_KEYS_H

#include "base/json.h"
#include "policy/policy.h"

/* What the value of a key looks like, and what type the field has. */
enum key_kind {
    KEY_NOTE,      /* a text that changes nothing: description. No field */
    KEY_EXTENDS,   /* a name; the loader follows it. No field */
    KEY_BOOL,      /* bool: true or false */
    KEY_SWITCH,    /* bool: the first or the second of `choices` */
    KEY_DECISION,  /* enum decision: by `choices` */
    KEY_WORD,      /* const char *: one of `choices` */
    KEY_TEXT,      /* const char *: any text of one line; NULL */
    KEY_DURATION,  /* uint64_t milliseconds */
    KEY_SIZE,      /* uint64_t bytes */
    KEY_COUNT,     /* uint64_t */
    KEY_PATTERNS,  /* struct policy_patterns */
    KEY_UNBLOCK,   /* names of the blocklist's entries; the field is the list that has them */
    KEY_PATHS,     /* struct policy_texts */
    KEY_NAMES,     /* struct policy_texts: names of variables */
    KEY_SETTINGS,  /* struct policy_texts: NAME=VALUE, written as a map */
    KEY_NETWORK,   /* off, on, or a map with `allow`; sets `hosts` too */
    KEY_TOOLS,     /* struct policy_texts, written as a map of lists */
    KEY_SENDS,     /* struct policy_texts: "file:PATH", "command:TEXT", "syslog" */
    KEY_PUBLIC,    /* const char *: a public key as text; NULL */
    KEY_ARGV,      /* struct policy_texts: a program by its path, and its arguments; all of it */
    KEY_LANGUAGES, /* struct policy_languages, written as a map of maps */
    KEY_TEMPLATE,  /* const char *: a text in which {name} of `choices` may stand; NULL */
    KEY_FIELDS,    /* const char *[]: a map with just the names of `choices`; all NULL */
    KEY_PATH,      /* const char *: one path, as KEY_PATHS has them; NULL */
    KEY_TREE,      /* const struct yaml_node *: a map that another room reads */
};

/* When a value is no wider than the one before it. */
enum key_rule {
    TIGHTER_ALWAYS,  /* says nothing about what is permitted */
    TIGHTER_NEVER,   /* a tree that must stay as it is */
    TIGHTER_LESS,    /* a number, or the place among `choices`, that is not greater */
    TIGHTER_SOME,    /* the same, and 0 stands for no bound */
    TIGHTER_TRUE,    /* a bool that does not go from true to false */
    TIGHTER_FALSE,   /* … from false to true */
    TIGHTER_MORE,    /* a list from which nothing is taken */
    TIGHTER_ALLOW,   /* patterns, each of which was allowed before */
    TIGHTER_CONFIRM, /* patterns that ask where it was allowed or asked before */
    TIGHTER_NETWORK,
    TIGHTER_SCRIPTS, /* a decision on scripts that is not looser than the one before */
    TIGHTER_SUBSET,  /* a list to which nothing is added */
    TIGHTER_SAME,    /* a number, a text or a list that stays as it is */
};

struct policy_key {
    const char *path; /* "limits.cpu" */
    enum key_kind kind;
    enum key_rule rule;
    size_t offset;       /* of the field in struct policy */
    const char *choices; /* separated by '|' */
    bool workspace;      /* KEY_PATHS: may be relative to the workspace */
    bool fixed;          /* what the system's configuration says, no other file changes */
};

/* Sorted by path, so that those of one group stand together. Ends with a null path. */
extern const struct policy_key policy_keys[];
enum { POLICY_KEYS_MAX = 96 };

/* The number of a key in the table, or -1. */
int policy_key_find(const char *path);

static inline const void *policy_key_field(const struct policy *policy,
                                           const struct policy_key *key)
{
    return (const char *)policy + key->offset;
}

/* Whether the canonical form has it: all but those that another key or nothing comes of. */
bool policy_key_has_value(const struct policy_key *key);

/* languages.c */
void policy_write_languages(const struct policy_languages *list, struct json *out);
const struct policy_language *policy_new_language(const struct policy_languages *before,
                                                  const struct policy_languages *after);

/* The value, as the canonical form has it. */
void policy_key_write(const struct policy *policy, const struct policy_key *key, struct json *out);

/* A list of patterns, likewise. */
void policy_patterns_write(const struct policy_patterns *list, struct json *out);

/* The name of a layer in output: "builtin", "system" … */
const char *policy_layer_name(enum policy_layer layer);

/*
 * Whether `after` permits by this key what `before` did not. `ret_text` is then the entry of a list
 * that does, with its place, or has no text.
 */
bool policy_key_widens(const struct policy_key *key, const struct policy *before,
                       const struct policy *after, struct policy_text *ret_text);

#endif
