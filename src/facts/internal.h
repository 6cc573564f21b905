/* What the files of this room share: the state of the shell as the walk sees it. */
#ifndef NACRE_FACTS_INTERNAL_H
#define NACRE_FACTS_INTERNAL_H

#include <string.h>

#include "facts/facts.h"

enum {
    LOOP_ROUNDS_MAX = 512, /* rounds of loops over known words, in one text */
    CALLS_MAX = 256,       /* calls of functions that are followed, in one text */
    NESTING_MAX = 48,      /* texts within texts, wrappers within wrappers, calls within calls */
    TEXTS_BYTES_MAX = 8 << 20, /* of texts within texts, all together */
    WORDS_MAX = 4096,          /* that one word may become */
    ACTS_MAX = 1 << 18,
    PLACES_MAX = 4,        /* directories that the shell may be in */
    SAME_LOOKED_AT = 1024, /* findings that are compared with a new one */
    EXPRESSIONS_MAX = 1 << 16,
    DEFINITIONS_MAX = 8,   /* of one name, that a call is followed into */
    VALUE_MAX = 1 << 16,   /* bytes of a value, and of a path */
    WORDS_TOTAL = 1 << 20, /* words of all commands */
    LINKS_MAX = 40,        /* symbolic links that lead to each other */
};

/* --- values and state ------------------------------------------------------------------------- */

struct value {
    uint8_t state;  /* enum word_state */
    uint8_t source; /* enum word_source */
    bool set;       /* false: certainly unset; `text` is "" and known */
    bool list;      /* an indexed array whose elements are `words` */
    const char *text;
    uint32_t len;
    const struct fact_word *words;
    size_t word_count;
};

/* In which ways the text sets a variable; sites.c finds them. */
enum variable_class {
    CLASS_NONE,     /* it does not */
    CLASS_STRAIGHT, /* only by plain assignments that are items of one list */
    CLASS_SEVERAL,  /* likewise, of several lists */
    CLASS_LOOP,     /* only by loops over words: known in their bodies */
    CLASS_READ,     /* by one `read` alone: known is what kind of text it is */
    CLASS_ANY,      /* otherwise: never known */
};

struct variable {
    const char *name;
    uint32_t name_len;
    uint32_t hash;
    enum variable_class class;
    const struct shell_list *region; /* CLASS_STRAIGHT: the list */
    unsigned body;                   /* in which it was set last; 0: not yet */
    unsigned loops;                  /* CLASS_LOOP: bodies of its loops that are being walked */
    bool numbers;                    /* it is only ever given numbers */
    bool once;                       /* readonly: whatever follows does not change it */
    bool integer;                    /* declare -i: what is assigned is evaluated */
    bool keyed;                      /* declare -A: subscripts are text */
    struct value value;
    struct variable *chain;
};

/* A list that is being walked, one for each time. */
struct body {
    unsigned id;
    const struct body *outer;
};

/* One definition of a function. */
struct definition {
    const struct shell_command *body;
    const struct unit *unit; /* the text that it stands in */
    bool followed;           /* its body was walked at a call */
    bool worst;              /* … with nothing known about its arguments */
    unsigned active;         /* calls of it under way */
    struct definition *same_name, *next;
};

struct function {
    const char *name;
    uint32_t name_len;
    unsigned process;
    struct definition *definitions;
    bool maybe; /* on some ways only: the program of that name may be meant */
    struct function *next;
};

/* A directory that the shell may be in; NULL stands for any. */
struct place {
    const char *path;
    const struct place *next;
};

/* A symbolic link that the text makes. */
struct link {
    const char *path, *target;
    struct link *next;
};

/* Places in a text. */
struct offsets {
    uint32_t *items;
    size_t count, capacity;
};

/* A text under way: the one given, or one within it (eval, bash -c). */
struct unit {
    bool own;               /* spans are those of the text given */
    struct shell_span span; /* of the word that holds it, for all of its acts, unless `own` */
    struct offsets entered; /* where its commands are that change the directory */
    struct offsets sure;    /* those of its commands that surely run when their list does */
};

/* What flows into a command. */
struct stream {
    uint8_t state; /* WORD_KNOWN: exactly `text`; else unknown */
    uint8_t source;
    bool none;   /* nobody writes there: the caller's standard input */
    bool counts; /* each line starts with a number: wc FILE */
    const char *text;
    uint32_t len;
};

struct words {
    struct fact_word *items;
    size_t count, capacity;
};

enum { BUCKETS_MIN = 64, BUCKETS_MAX = 1 << 16 };

struct walk {
    struct arena *arena;
    const struct facts_host *host;
    struct facts *facts;
    struct act *last_act;
    struct finding *last_finding;
    size_t finding_count;
    const struct unit *unit;
    const struct act *via;

    struct variable **variables; /* by hash */
    struct function **functions;
    size_t bucket_count; /* a power of two */
    struct definition *definitions;
    const struct shell_list *main; /* of the text given */
    const struct body *body;
    unsigned body_count;
    struct value arguments; /* $1, $2 … */
    bool arguments_change;  /* set or shift are somewhere in the text */
    bool later;             /* in text that runs some other time: traps, functions never called */
    unsigned process, process_count; /* each has functions of its own */

    const struct place *cwd;     /* NULL: not known */
    bool entered_surely;         /* the last cd was into a directory that is there */
    const struct place *visited; /* every directory so far: where cd - and popd lead */

    uint32_t command;      /* where the simple command under way starts */
    bool bare_environment; /* variables of the host may be taken away: env -i */
    bool removes;          /* something before may have removed files */
    struct link *links;
    bool function_enters; /* a function changes the directory */
    bool blind;           /* the text may set any variable */
    bool split_odd;       /* IFS may have changed */
    bool streams_odd;     /* exec has redirected what commands read and print */
    bool writes;          /* an act before this one writes files */
    bool programs_only;   /* behind a wrapper: neither functions nor builtins are meant */
    bool skip_function;   /* the next name is no function: command NAME */
    bool plain_shell;     /* in text for sh */
    unsigned forks;       /* branches, loops, functions, subshells around this place */
    bool text_sets;       /* the last text within changes the shell's state */

    unsigned nesting;
    unsigned rounds, calls;
    size_t texts_bytes;
    size_t words_made;
    uint8_t worst_source; /* of any word so far */
    size_t expressions;   /* values that were evaluated as expressions */
    bool bound_told;
};

/* state.c */
bool state_begin(struct walk *w, size_t text_len);
struct variable *state_variable(struct walk *w, const char *name, size_t len);
struct value state_value(struct walk *w, const char *name, size_t len);
void state_set(struct walk *w, const char *name, size_t len, struct value value);
void state_forget(struct walk *w, const char *name, size_t len, enum word_source source);
/* One of bash's own that evaluates what it is given: RANDOM, SECONDS. */
bool state_is_own_number(const char *name, size_t len);
/* A variable of bash's own that cannot be set. */
bool state_is_read_only(const char *name, size_t len);
/* Where the text sets IFS, words end where nobody knows, in all of it. */
void state_watch_ifs(struct walk *w);
void state_classify(struct walk *w, const char *name, size_t len, enum variable_class class,
                    const struct shell_list *region, bool number);
/* $1, $2 …: a list, or not known. */
struct value state_arguments(const struct walk *w);
struct value value_list(const struct fact_word *words, size_t count);
struct function *state_function(struct walk *w, const char *name, size_t len);
/* NULL: taken away. */
void state_define(struct walk *w, const char *name, size_t len, struct definition *definition,
                  bool surely);
const struct place *state_place(struct walk *w, const char *path);
const struct place *state_either(struct walk *w, const struct place *a, const struct place *b);

/* sites.c: classifies the variables of a text; whether it changes the shell's state at all. */
bool sites_find(struct walk *w, const struct shell_tree *tree, struct unit *unit);
/* Whether a builtin of this name changes variables, arguments or the directory. */
bool sites_is_setter(const char *name);
/* Whether the command that starts there surely runs when its list does: no error can skip it. */
bool sites_surely_runs(const struct walk *w, uint32_t offset);
/* Whether something in this part of the text, or a function, changes the directory. */
bool sites_enter(const struct walk *w, struct shell_span span);

static inline struct value value_known(const char *text, size_t len)
{
    return (struct value){.state = WORD_KNOWN, .set = true, .text = text, .len = (uint32_t)len};
}

static inline struct value value_unknown(enum word_source source)
{
    return (struct value){
        .state = WORD_UNKNOWN, .set = true, .source = (uint8_t)source, .text = ""};
}

static inline struct stream stream_unknown(enum word_source source)
{
    return (struct stream){.source = (uint8_t)source, .text = ""};
}

/* words.c */
void words_add(struct walk *w, struct words *words, struct fact_word word);
static inline bool word_is(const struct fact_word *word, const char *text)
{
    return word->state == WORD_KNOWN && word->text[0] == text[0] && strcmp(word->text, text) == 0;
}
/* Most names differ in their first letter. */
static inline bool name_is(const char *name, const char *other)
{
    return name[0] == other[0] && strcmp(name, other) == 0;
}
static inline bool char_in(char c, const char *set)
{
    return c && strchr(set, c);
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
/* $x{y,z}: braces come first, and make other names. */
bool brace_joins(const struct shell_word *word);
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
/* Whether the name text[from, end) is given a value there. */
bool arith_assigns(const char *text, size_t len, size_t from, size_t end);
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
/* In a process of its own, with these arguments. */
void inner_process(struct walk *w, const struct fact_word *text, enum dialect dialect,
                   const struct fact_word *args, size_t count);
void inner_stream(struct walk *w, const struct stream *in, enum dialect dialect,
                  struct shell_span span);
void inner_words(struct walk *w, const struct fact_word *text);
/* Text that this shell runs some time later: traps. */
void inner_later(struct walk *w, const struct fact_word *text);

/* builtins.c: what a builtin of bash does to the shell; true when nothing is left to look at. */
bool builtin_run(struct walk *w, struct act *act, struct stream in);

/* A setting of `set -o` or `shopt` that is turned on. */
void builtin_check_setting(struct walk *w, const char *builtin, const struct fact_word *word);

/* output.c: what a command prints, where that is certain. */
struct stream output_of(struct walk *w, const struct act *act, struct stream in);

/* paths.c */
/* One for each directory that it may be relative to. */
struct fact_path *path_make(struct walk *w, const struct place *base, const struct fact_word *word,
                            unsigned mode);
const struct place *path_enter(struct walk *w, const struct place *base,
                               const struct fact_word *word);

#endif
