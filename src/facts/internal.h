/* What the files of this room share: the state of the shell as the walk sees it. */
#ifndef NACRE_FACTS_INTERNAL_H
#define NACRE_FACTS_INTERNAL_H

#include <string.h>

#include "facts/facts.h"

enum {
    LOOP_ROUNDS_MAX = 512,   /* rounds of loops over known words, in one text */
    CALLS_MAX = 256,         /* calls of functions that are followed, in one text */
    NESTING_MAX = 48,        /* texts within texts, wrappers within wrappers, calls within calls */
    TEXTS_BYTES_MAX = 8 << 20, /* of texts within texts, all together */
    WORDS_MAX = 4096,        /* that one word may become */
    ACTS_MAX = 1 << 18,
    PLACES_MAX = 4,          /* directories that the shell may be in */
    JOIN_MAX = 1 << 20,
    LINKS_MAX = 16, /* symbolic links that lead to each other */
};

/* --- values and state ------------------------------------------------------------------------- */

struct value {
    uint8_t state;  /* enum word_state */
    uint8_t source; /* enum word_source */
    bool set;       /* false: certainly unset; `text` is "" and known */
    bool list;      /* an indexed array whose elements are `words` */
    bool odd;       /* has an attribute that changes what is assigned (-i -u -l -n -A) */
    bool keyed;     /* declare -A: subscripts are text */
    const char *text;
    uint32_t len;
    const struct fact_word *words;
    size_t word_count;
};

struct variable {
    const char *name;
    uint32_t name_len;
    uint32_t hash;
    struct value value;
    struct variable *chain;
};

/* One definition of a function. */
struct definition {
    const struct shell_command *body;
    const struct unit *unit; /* the text that it stands in */
    struct shell_span span;
    bool followed;   /* its body was walked at a call */
    bool worst;      /* … with nothing known about its arguments */
    unsigned active; /* calls of it under way */
    struct definition *next;
};

struct function {
    const char *name;
    uint32_t name_len;
    struct definition *now; /* NULL: none */
    bool maybe;             /* on some ways only */
    struct function *next;
};

/* A directory that the shell may be in; NULL stands for any. */
struct place {
    const char *path;
    const struct place *next;
};

/* What was changed, so that a way that was tried can be taken back. */
struct change {
    struct variable *variable; /* or */
    struct function *function; /* or neither: the directory */
    struct value value;
    struct definition *definition;
    bool maybe;
    const struct place *cwd;
};

/* A place in a text that changes the state. */
enum site_kind { SITE_VARIABLE, SITE_NUMBER, SITE_ANY, SITE_DIRECTORY, SITE_JUMP };
struct site {
    enum site_kind kind;
    uint32_t offset;
    struct shell_text name; /* SITE_VARIABLE; SITE_NUMBER: only numbers are set there */
};

/* A text under way: the one given, or one within it (eval, bash -c). */
struct unit {
    const struct unit *outer;
    bool own;               /* spans are those of the text given */
    struct shell_span span; /* of the word that holds it, for all of its acts, unless `own` */
    const struct site *sites;
    size_t site_count;
};

/* What flows into a command. */
struct stream {
    uint8_t state; /* WORD_KNOWN: exactly `text`; else unknown */
    uint8_t source;
    bool none; /* nobody writes there: the caller's standard input */
    const char *text;
    uint32_t len;
};

struct words {
    struct fact_word *items;
    size_t count, capacity;
};

enum { BUCKETS = 64 };

struct walk {
    struct arena *arena;
    const struct facts_host *host;
    struct facts *facts;
    struct act *last_act;
    struct finding *last_finding;
    const struct unit *unit;
    const struct act *via;

    struct variable *variables[BUCKETS];
    struct function *functions;
    struct definition *definitions;
    const struct fact_word *positional;
    size_t positional_count;
    bool positional_known;
    bool positional_given; /* for the next text in a process of its own */
    const struct place *cwd; /* NULL: not known */
    bool programs_only;      /* behind a wrapper: neither functions nor builtins are meant */
    bool plain_shell;        /* in text for sh */
    bool exits;              /* set -e: a command that fails ends it all */
    bool split_odd;  /* IFS may have changed */
    bool writes;     /* an act before this one writes files */

    struct change *changes;
    size_t change_count, change_capacity;

    unsigned nesting;
    unsigned rounds, calls;
    size_t texts_bytes;
    bool bound_told;
};

/* state.c */
struct variable *state_variable(struct walk *w, const char *name, size_t len);
void state_set(struct walk *w, const char *name, size_t len, struct value value);
void state_forget(struct walk *w, const char *name, size_t len, enum word_source source);
void state_forget_all(struct walk *w);
void state_forget_sites(struct walk *w, struct shell_span span);
struct function *state_function(struct walk *w, const char *name, size_t len);
void state_define(struct walk *w, const char *name, size_t len, struct definition *definition);
void state_set_cwd(struct walk *w, const struct place *cwd);
const struct place *state_place(struct walk *w, const char *path);
const struct place *state_either(struct walk *w, const struct place *a, const struct place *b);
/* For a process of its own: only what was there from the start is known. */
void state_forget_set(struct walk *w);
bool state_jumps(const struct walk *w, struct shell_span span);
size_t state_mark(const struct walk *w);
void state_undo(struct walk *w, size_t mark);
/* What changed since `mark` may or may not have happened. */
void state_blur(struct walk *w, size_t mark);
/* Two ways from `mark`: the first is over and its changes are kept aside, the second follows. */
struct branch {
    struct change *after;
    size_t count;
};
struct branch state_leave(struct walk *w, size_t mark);
void state_join(struct walk *w, size_t mark, const struct branch *first);

/* sites.c */
void sites_find(struct walk *w, const struct shell_tree *tree, struct unit *unit);

static inline struct value value_known(const char *text, size_t len)
{
    return (struct value){
        .state = WORD_KNOWN, .set = true, .text = text, .len = (uint32_t)len};
}

static inline struct value value_unknown(enum word_source source)
{
    return (struct value){.state = WORD_UNKNOWN, .set = true, .source = (uint8_t)source, .text = ""};
}

/* words.c */
void words_add(struct walk *w, struct words *words, struct fact_word word);
static inline bool word_is(const struct fact_word *word, const char *text)
{
    return word->state == WORD_KNOWN && strcmp(word->text, text) == 0;
}
static inline bool text_is(const char *text, size_t len, const char *other)
{
    return (len == 0 || text[0] == other[0]) && strlen(other) == len &&
           memcmp(text, other, len) == 0;
}
bool is_name(const char *text, size_t len);
bool is_number(const char *text, size_t len);
struct shell_span span_of(const struct walk *w, struct shell_span span);

/* expand.c: what bash makes of words. Substitutions in them are walked on the way. */
void expand_word(struct walk *w, const struct shell_word *word, struct words *out);
void expand_words(struct walk *w, const struct shell_word *list, struct words *out);
/* One value: no splitting, no globs; assignments, documents, the subject of case. */
struct value expand_value(struct walk *w, const struct shell_part *parts);
/* The value as one word. */
struct fact_word expand_one(struct walk *w, const struct shell_word *word);
/* Only for what runs in it. */
void expand_visit(struct walk *w, const struct shell_part *parts);

/* brace.c: the sequences of parts that {…} makes of a word; false: too many. */
bool brace_has(const struct shell_word *word);
bool brace_expand(struct walk *w, const struct shell_word *word,
                  void (*each)(struct walk *w, const struct shell_part *parts, void *user),
                  void *user);

/* param.c */
struct value param_value(struct walk *w, const struct shell_param *param, bool quoted,
                         const struct fact_word **ret_words, size_t *ret_count);

/* arith.c: text that bash evaluates as an expression. */
void arith_check(struct walk *w, const struct shell_part *parts, struct shell_span span);
void arith_check_text(struct walk *w, const char *text, size_t len, struct shell_span span);
void arith_check_word(struct walk *w, const struct fact_word *word);
/* A word that names a variable, maybe with a subscript; sets it to an unknown value. */
void arith_check_name(struct walk *w, const struct fact_word *word, enum word_source source);

/* walk.c */
struct stream walk_list(struct walk *w, const struct shell_list *list, struct stream in);
struct stream walk_command(struct walk *w, const struct shell_command *command, struct stream in);
/* A list whose changes to the shell stay inside: $(…), (…). */
struct stream walk_apart(struct walk *w, const struct shell_list *list, struct stream in);
/* The bodies of functions that no call was seen for. */
void walk_uncalled(struct walk *w);

/* A call of a function. */
struct stream walk_call(struct walk *w, struct function *function, const struct fact_word *args,
                        size_t count, struct stream in);

/* simple.c */
struct stream simple_walk(struct walk *w, const struct shell_command *command, struct stream in);
/* The files that they open, and what then flows in. */
struct fact_path *redirect_walk(struct walk *w, const struct shell_redirect *redirects,
                                struct stream *in);
void redirect_attach(struct walk *w, struct fact_path *paths, struct shell_span span);
void assign_walk(struct walk *w, const struct shell_assignment *list, bool lasting,
                 const struct fact_word *command);
/* NAME=VALUE known as text, for what runs with it. */
void variable_check(struct walk *w, const char *name, size_t len, const struct value *value,
                    struct shell_span span, const struct fact_word *command);

/* act.c: a command line, wherever it comes from. */
struct stream act_run(struct walk *w, const struct fact_word *words, size_t count,
                      struct shell_span span, struct stream in, struct act **ret);
struct act *act_add(struct walk *w, const struct fact_word *words, size_t count,
                    struct shell_span span);
void act_paths(struct act *act, struct fact_path *paths);
struct finding *finding_add(struct walk *w, enum finding_kind kind, const char *what,
                            const char *why, struct shell_span span);

/* apply.c: what the knowledge says about the words of an act. */
struct stream apply_knowledge(struct walk *w, struct act *act, struct stream in);

/* inner.c: texts within texts. */
enum dialect { DIALECT_BASH, DIALECT_SH };
void inner_text(struct walk *w, const struct fact_word *text, enum dialect dialect, bool apart);
void inner_stream(struct walk *w, const struct stream *in, enum dialect dialect,
                  struct shell_span span);
void inner_words(struct walk *w, const struct fact_word *text);
/* Text that this shell runs some time later: traps. */
void inner_later(struct walk *w, const struct fact_word *text);

/* builtins.c: what a builtin of bash does to the shell; true when nothing is left to look at. */
bool builtin_run(struct walk *w, struct act *act, struct stream in);

/* output.c: what a command prints, where that is certain. */
struct stream output_of(struct walk *w, const struct act *act, struct stream in);

/* paths.c */
/* One for each directory that it may be relative to. */
struct fact_path *path_make(struct walk *w, const struct place *base, const struct fact_word *word,
                            unsigned mode);
const struct place *path_enter(struct walk *w, const struct place *base,
                               const struct fact_word *word);

#endif
