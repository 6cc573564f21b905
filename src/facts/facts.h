/*
 * The facts room: tree + command knowledge → everything that a text could cause.
 *
 * In: the tree of a text, what is known about commands, and what surrounds the run (home,
 * workspace, directory, variables). Out: the acts, each with its words, paths, effects, the
 * wrappers through which it is reached and its span; and findings, which are things that a verdict
 * must know besides. The room never decides, and what it does not know it says: an unknown word is
 * a fact too.
 *
 * 1. Every command that the text could run is an act, or a finding says that there may be more.
 * 2. A word is known only when bash would make exactly that of it.
 * 3. The work is bounded: what passes a bound is a finding, never silence.
 */
#ifndef NACRE_FACTS_FACTS_H
#define NACRE_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "facts/knowledge.h"
#include "shell/shell.h"

/* --- words ------------------------------------------------------------------------------------ */

enum word_state {
    WORD_UNKNOWN, /* `text` is how it starts, as far as that is known */
    WORD_PATTERN, /* a file name that fits the glob in `text` (quoted characters behind \) */
    WORD_KNOWN,   /* exactly `text` */
};

/* Where an unknown word comes from; the worst of several wins, so the order counts. */
enum word_source {
    SOURCE_NONE,
    SOURCE_NUMBER,     /* digits, whatever they are */
    SOURCE_LIST,       /* (…) of an assignment: its elements were looked at by themselves */
    SOURCE_PROCESS,    /* the name of a pipe: <(…) */
    SOURCE_FILES,      /* names of files: a glob, find */
    SOURCE_VARIABLE,   /* a variable whose value is not known here */
    SOURCE_ARGUMENT,   /* $1, $@ of a function */
    SOURCE_OUTPUT,     /* what a command prints */
    SOURCE_INPUT,      /* what comes from standard input or a file */
    SOURCE_SETTINGS,   /* a setting of the shell makes every reading uncertain */
    SOURCE_TOO_MUCH,   /* a bound was passed */
    SOURCE_DECODED,    /* text that was decoded or put together by a program */
    SOURCE_DOWNLOADED, /* text from the network */
};

struct fact_word {
    const char *text; /* ends with NUL */
    uint32_t len;
    uint8_t state;  /* enum word_state */
    uint8_t source; /* enum word_source, unless known */
    bool many;      /* may be no word at all, or several */
    bool made;      /* of several parts: not simply written there */
    struct shell_span span;
};

/* --- acts ------------------------------------------------------------------------------------- */

enum path_mode {
    PATH_READ = 1 << 0,
    PATH_WRITE = 1 << 1,
    PATH_DELETE = 1 << 2,
    PATH_ENTER = 1 << 3,
    PATH_RUN = 1 << 4,
};

/* A file that an act uses. */
struct fact_path {
    uint8_t mode;        /* enum path_mode */
    uint8_t state;       /* of `text`, enum word_state */
    uint8_t source;      /* enum word_source, unless known */
    bool loose;          /* only looks like a path: nothing is known about the command */
    bool climbs;         /* relative, with .. in it */
    bool one_of_several; /* from another directory that the shell may be in it stays inside */
    const char *text;    /* absolute, without . and ..; what is known of it, NULL when nothing is */
    const char *real;    /* where it leads through symbolic links as they are now; NULL: the same */
    struct shell_span span;
    struct fact_path *next;
};

enum act_flag {
    ACT_TRANSPARENT = 1 << 0, /* only runs another act, adds nothing of its own */
    ACT_BUILTIN = 1 << 1,     /* of bash */
    ACT_FUNCTION = 1 << 2,    /* a call of a function of the text; its body has acts of its own */
    ACT_ASSUMED = 1 << 3, /* not written in the text: what an option makes of it (find -delete) */
    ACT_SYSTEM_PATH = 1 << 4, /* named by the path of a system directory: /usr/bin/ls */
    ACT_OTHER_PATH = 1 << 5,  /* named by another path: ./ls */
    ACT_REMOTE = 1 << 6,      /* runs on another machine */
    ACT_UNCLEAR = 1 << 8,   /* an option before the subcommand is not known: it may take a value */
    ACT_WORKSPACE = 1 << 7, /* named by a path in the workspace: ./build/app */
};

struct act {
    const struct fact_word *words; /* the first is the name */
    size_t word_count;
    const char *name;              /* without its path; NULL when unknown */
    const struct knowledge *known; /* NULL: nothing is known about it */
    const struct knowledge *sub;   /* its subcommand, or NULL */
    size_t first_operand;          /* index of the subcommand or the first operand in `words` */
    size_t second_name; /* index of a subcommand of the subcommand (git remote add), or 0 */
    const struct fact_word *operands; /* behind the subcommand; values of options are none */
    size_t operand_count;
    const char *const *options; /* the main spelling of each option met, in order */
    size_t option_count;
    const char *const *asked; /* those options that must be listed by name */
    size_t asked_count;
    uint32_t flags;   /* enum act_flag */
    uint16_t effects; /* enum effect */
    struct fact_path *paths, *last_path;
    const struct act *via; /* the act that runs it, or NULL */
    struct shell_span span;
    struct act *next;
};

/* --- findings --------------------------------------------------------------------------------- */

enum finding_kind {
    FINDING_NAME,      /* the name of a command is not known */
    FINDING_CODE,      /* shell text is run that is not known */
    FINDING_VALUE,     /* a value that bash evaluates as code is not known to be plain */
    FINDING_OPTION,    /* a word that is not known may be an option that does more */
    FINDING_VARIABLE,  /* a variable is set that changes what programs do */
    FINDING_SETTING,   /* a setting of the shell changes how later text is read */
    FINDING_SHADOW,    /* a function or alias takes the name of a command */
    FINDING_DIALECT,   /* text for another shell, which reads it otherwise */
    FINDING_NAME_FILE, /* a file is created whose name another command takes for an option */
    FINDING_BOUND,     /* a bound was passed: there may be more */
    FINDING_DECODED,   /* decoded text is run */
    FINDING_DOWNLOAD,  /* downloaded text is run */
    FINDING_COUNT,
};

struct finding {
    enum finding_kind kind;
    const char *what; /* the variable, setting, function or word; never NULL */
    const char *why;  /* one clause for people; may be NULL */
    struct shell_span span;
    struct finding *next;
};

struct facts {
    struct act *acts;
    size_t act_count;
    struct finding *findings;
    bool has_metacharacters; /* of the list ; & | > < $ ` \ ! */
    uint32_t metacharacter;  /* where the first of them is */
    size_t text_len;
    size_t characters; /* of the text, without the blanks around it */
};

/* --- making them ------------------------------------------------------------------------------ */

struct facts_variable {
    const char *name;
    const char *value; /* NULL: set, but not known here */
};

/* What surrounds the run. The function may look at the file system; nothing else does. */
struct facts_host {
    const struct knowledge_base *knowledge;
    const char *home;      /* canonical; NULL: none */
    const char *workspace; /* canonical */
    const char *cwd;       /* canonical, the workspace or below it */
    const struct facts_variable
        *variables; /* besides PATH, HOME and PWD; every other one is unset */
    size_t variable_count;
    /* Where an absolute path leads through symbolic links; NULL: it has none, or is not there. */
    const char *(*real_path)(void *user, struct arena *arena, const char *path);
    /* Whether something is there. */
    bool (*exists)(void *user, const char *path);
    bool (*is_directory)(void *user, const char *path);
    void *user;
    /* Bytes of the text that a session left before it: what is said of a text as it was given
     * (its length, its characters) is not said of them. */
    size_t before;
};

/* The facts of a text in `arena`; 0 or -ENOMEM. */
int facts_gather(struct arena *arena, const struct facts_host *host, const struct shell_tree *tree,
                 const struct facts **ret, struct err *e);

/* Whether an absolute path names a command as its name alone does: /usr/bin/ls. */
bool facts_is_system_command(const char *path);

/*
 * The act that a program is which was really started with these words: no builtin, and nothing of
 * what it will run in turn. No file is asked for.
 */
int facts_of_program(struct arena *arena, const struct facts_host *host, const char *const *words,
                     size_t count, const struct act **ret, struct err *e);

/* The real file system for `facts_host`. */
const char *facts_real_path(void *user, struct arena *arena, const char *path);
bool facts_exists(void *user, const char *path);
bool facts_is_directory(void *user, const char *path);

extern const char *const effect_names[]; /* by bit, ends with NULL */

#endif
