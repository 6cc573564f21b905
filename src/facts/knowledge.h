/*
 * What is known about commands: data, written in data/commands (docs/commands.md tells how),
 * compiled into the program, and extended by users' files of the same form.
 */
#ifndef NACRE_FACTS_KNOWLEDGE_H
#define NACRE_FACTS_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/yaml.h"

/* What the value of an option, or an operand, is. */
enum role {
    ROLE_FLAG,      /* no value at all */
    ROLE_TEXT,      /* data */
    ROLE_READ,      /* a file or directory that is read */
    ROLE_WRITE,     /* … written or created */
    ROLE_DELETE,    /* … deleted */
    ROLE_MOVE,      /* … read, and gone from there afterwards */
    ROLE_ENTER,     /* a directory to work in */
    ROLE_SHELL,     /* text that `sh -c` runs */
    ROLE_BASH,      /* text that bash runs in a process of its own */
    ROLE_EVAL,      /* text that this very shell runs: eval, trap */
    ROLE_SOURCE,    /* a file that this very shell runs: source */
    ROLE_SCRIPT,    /* a file with shell text that another shell runs: bash FILE */
    ROLE_PROGRAM,   /* a program to run, one word */
    ROLE_WORDS,     /* a command line in one word, split at blanks, no shell */
    ROLE_ARGV,      /* this word and all behind it: a command and its arguments */
    ROLE_CODE,      /* program text in the command's own language, which can do anything */
    ROLE_CODE_FILE, /* a file with such text */
    ROLE_SED,       /* a sed script */
    ROLE_AWK,       /* an awk program */
    ROLE_HOST,      /* a machine to talk to */
    ROLE_URL,       /* an address to talk to; a plain path or file name is read */
    ROLE_VARIABLE,  /* NAME=VALUE into the environment of what runs */
    ROLE_NAME,      /* the name of a shell variable that is set: read, printf -v */
    ROLE_SETTING,   /* KEY=VALUE; the command's `settings` say what it means: git -c, make CC= */
    ROLE_COUNT,
};

enum effect {
    EFFECT_READS = 1 << 0,
    EFFECT_WRITES = 1 << 1,
    EFFECT_DELETES = 1 << 2,
    EFFECT_RUNS = 1 << 3, /* code that is not in the text */
    EFFECT_NETWORK = 1 << 4,
    EFFECT_PRIVILEGE = 1 << 5,
    EFFECT_IRREVERSIBLE = 1 << 6, /* even by undoing every change in the workspace */
};

enum mark {
    MARK_OPTIONAL = 1 << 0, /* the value only in --name=VALUE or -nVALUE */
    MARK_ASK = 1 << 1,      /* changes what the command is for: must be listed by name */
    MARK_INSTEAD = 1 << 2,  /* stands for the first operand: grep -e, sed -e, awk -f */
    MARK_LAST = 1 << 3,     /* stands for the last operand: cp -t */
    MARK_UNTIL = 1 << 4,    /* ROLE_ARGV that ends at ; or + : find -exec */
    MARK_REST = 1 << 5,     /* all words behind it are plain data: bash -c TEXT NAME ARGS… */
    MARK_PAIR = 1 << 6,     /* a name comes before the value: jq --rawfile NAME FILE */
};

struct knowledge_option {
    const char *name; /* with its dashes: "-o", "--output", "-delete" */
    const char *same; /* the spelling that stands for all of its names */
    enum role role;
    uint16_t flags;   /* enum mark */
    uint16_t effects; /* that it adds */
    const char *as;   /* the command that this option makes of it: find -delete is rm; NULL */
};

struct knowledge_operand {
    enum role role;
    bool repeat;
    uint16_t flags; /* MARK_ASK */
};

/* A name may end in * for any rest. */
struct knowledge_setting {
    const char *name;
    enum role role; /* ROLE_TEXT: harmless; ROLE_SHELL, ROLE_PROGRAM …: its value runs */
    uint16_t flags; /* MARK_ASK */
};

enum knowledge_kind {
    KIND_PLAIN,
    KIND_SHELL,       /* runs shell text: bash, sh, zsh */
    KIND_INTERPRETER, /* runs programs of another language, which is what it is for */
    KIND_WRAPPER,     /* runs the command it is given and adds nothing of its own */
    KIND_NETWORK,     /* is for talking to other machines */
    KIND_PRIVILEGE,   /* is for getting more rights, or for running things outside the box */
    KIND_DECODER,     /* makes other text of its input */
};

enum knowledge_flag {
    KNOWN_SINGLE = 1 << 0,      /* long options have one dash, no bundles: find, go, java */
    KNOWN_NO_OPTIONS = 1 << 1,  /* every word is an operand: echo */
    KNOWN_FIRST = 1 << 2,       /* options end at the first operand: env, timeout, ssh */
    KNOWN_PERSISTENT = 1 << 3,  /* its options may also stand behind a subcommand: docker, npm */
    KNOWN_BUILTIN = 1 << 4,     /* a builtin of bash */
    KNOWN_NUMBER = 1 << 5,      /* prints numbers only: nproc, date +%s is not */
    KNOWN_NO_DASH = 1 << 6,     /* bundled letters may come without a dash: tar xzf */
    KNOWN_SWITCHES = 1 << 7,    /* options start with a slash: cipher /w */
    KNOWN_STDIN_CODE = 1 << 8,  /* without operands it runs what comes on standard input */
    KNOWN_ASSIGNMENTS = 1 << 9, /* operands NAME=VALUE are ROLE_VARIABLE: env, sudo; with settings
                                   ROLE_SETTING: make */
};

struct knowledge {
    const char *name;
    enum knowledge_kind kind;
    uint16_t flags;                         /* enum knowledge_flag */
    uint16_t effects;                       /* whatever its options */
    const struct knowledge_option *options; /* sorted by name (strcmp) */
    size_t option_count;
    const struct knowledge_operand *operands;
    size_t operand_count;
    const struct knowledge *subcommands; /* sorted by name */
    size_t subcommand_count;
    const struct knowledge_setting *settings;
    size_t setting_count;
};

/* Variables of the environment that change what programs do; a name may end in *. */
struct knowledge_variable {
    const char *name;
    enum role role;  /* ROLE_TEXT: harmless after all; ROLE_SHELL …: the value runs */
    uint16_t flags;  /* MARK_ASK: whatever the value */
    const char *why; /* "loads code into every program" */
};

struct knowledge_base {
    const struct knowledge *commands; /* sorted by name */
    size_t command_count;
    const struct knowledge_variable *variables; /* sorted by name */
    size_t variable_count;
    const struct knowledge_base *next; /* what this one adds to; the first that knows a name wins */
};

/* Made of data/commands by tools/embed-commands.c. */
extern const struct knowledge_base knowledge_builtin;

const struct knowledge *knowledge_find(const struct knowledge_base *base, const char *name,
                                       size_t len);
const struct knowledge *knowledge_subcommand(const struct knowledge *command, const char *name,
                                             size_t len);
/* The option that a word of the form -x, --name or -name names, or NULL. Unambiguous prefixes of
 * long names count, as getopt_long takes them; an ambiguous one counts as the first that has
 * effects, a role that matters or MARK_ASK. */
const struct knowledge_option *knowledge_option(const struct knowledge *command, const char *name,
                                                size_t len);
const struct knowledge_setting *knowledge_setting(const struct knowledge *command, const char *name,
                                                  size_t len);
const struct knowledge_variable *knowledge_variable(const struct knowledge_base *base,
                                                    const char *name, size_t len);

/* From a tree of the form that docs/commands.md gives; `name` is the file's, for messages. */
int knowledge_read(struct arena *arena, const char *name, const struct yaml_node *root,
                   const struct knowledge_base *next, const struct knowledge_base **ret,
                   struct err *e);

extern const char *const role_names[ROLE_COUNT];

#endif
