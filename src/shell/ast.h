/*
 * The tree of a bash text.
 *
 * Plain data in one arena: lists are linked by `next`, text is a slice of the source or of the
 * arena, and every node has its span of bytes in the text as it was given. What two spellings have
 * in common is one form here: `x` in backticks and $(x), "a" and 'a' and \a, <<- and << with its
 * tabs gone, do…done and { } around a loop's body, |& and 2>&1 |.
 */
#ifndef NACRE_SHELL_AST_H
#define NACRE_SHELL_AST_H

#include <stdbool.h>
#include <stdint.h>

struct shell_span {
    uint32_t from, to; /* [from, to) in the text as given */
};

struct shell_text {
    const char *bytes; /* not ended by NUL */
    uint32_t len;
};

/* --- words ------------------------------------------------------------------------------------ */

enum shell_part_kind {
    SHELL_TEXT,    /* as it stands: globs, braces and tildes in it are live */
    SHELL_QUOTED,  /* literal bytes, whatever they were quoted with */
    SHELL_DOUBLE,  /* "…": parts that are neither split nor globbed */
    SHELL_PARAM,   /* $x, ${x…} */
    SHELL_COMMAND, /* $(…), `…` */
    SHELL_ARITH,   /* $((…)), $[…] */
    SHELL_PROCESS, /* <(…), >(…) */
    SHELL_EXTGLOB, /* ?(…) *(…) +(…) @(…) !(…), and a group of a regular expression */
    SHELL_ARRAY,   /* (…) of a compound assignment */
};

struct shell_part {
    enum shell_part_kind kind;
    char op; /* SHELL_PROCESS: '<' or '>'; SHELL_EXTGLOB: its character, 0 for a regex group */
    struct shell_span span;
    struct shell_part *next;
    union {
        struct shell_text text;            /* SHELL_TEXT, SHELL_QUOTED */
        struct shell_part *parts;          /* SHELL_DOUBLE, SHELL_ARITH, SHELL_EXTGLOB */
        struct shell_list *list;           /* SHELL_COMMAND, SHELL_PROCESS; NULL when empty */
        struct shell_param *param;         /* SHELL_PARAM */
        struct shell_assignment *elements; /* SHELL_ARRAY */
    };
};

struct shell_word {
    struct shell_span span;
    struct shell_part *parts; /* NULL for an empty value */
    struct shell_word *next;
};

/*
 * ${!name[subscript]OPERATOR operand}. Late text (subscripts, offsets) is SHELL_TEXT with its
 * quotes as they stand, and the expansions in it.
 */
struct shell_param {
    struct shell_text name; /* empty when `bad` */
    struct shell_text op; /* "" for none, ":-", "##", "//", ":", "@P", "*" or "@" after a prefix */
    struct shell_part *operand; /* what follows the operator */
    struct shell_part *subscript;
    bool has_subscript;
    bool length;   /* ${#name} */
    bool indirect; /* ${!name} */
    bool bare;     /* without braces where that counts: $name right before { , or }, and $! */
    bool bad; /* what bash calls a bad substitution when it gets there: the inside as `operand` */
};

/* NAME=VALUE, NAME[SUBSCRIPT]+=VALUE; in an array [SUBSCRIPT]=VALUE or VALUE alone. */
struct shell_assignment {
    struct shell_span span;
    struct shell_text name;
    struct shell_part *subscript;
    bool has_subscript;
    bool append;
    struct shell_word value;
    struct shell_assignment *next;
};

/* --- redirections ----------------------------------------------------------------------------- */

enum shell_redirect_kind {
    SHELL_REDIRECT_IN,         /* <   */
    SHELL_REDIRECT_OUT,        /* >   */
    SHELL_REDIRECT_APPEND,     /* >>  */
    SHELL_REDIRECT_CLOBBER,    /* >|  */
    SHELL_REDIRECT_BOTH_WAYS,  /* <>  */
    SHELL_REDIRECT_DUP_IN,     /* <&  */
    SHELL_REDIRECT_DUP_OUT,    /* >&  */
    SHELL_REDIRECT_ALL,        /* &>  */
    SHELL_REDIRECT_ALL_APPEND, /* &>> */
    SHELL_REDIRECT_STRING,     /* <<< */
    SHELL_REDIRECT_DOCUMENT,   /* <<, <<- */
};

struct shell_redirect {
    enum shell_redirect_kind kind;
    bool quoted;               /* SHELL_REDIRECT_DOCUMENT: the body is not expanded */
    uint32_t fd;               /* the number given, else the operator's own; <&- is 0>&- */
    struct shell_text fd_name; /* {NAME} instead of a number, with a subscript perhaps */
    struct shell_span span;
    struct shell_word target;    /* SHELL_REDIRECT_DOCUMENT: the body */
    struct shell_text delimiter; /* SHELL_REDIRECT_DOCUMENT */
    struct shell_redirect *next;
};

/* --- commands --------------------------------------------------------------------------------- */

enum shell_command_kind {
    SHELL_SIMPLE,
    SHELL_SUBSHELL,
    SHELL_GROUP,
    SHELL_IF,
    SHELL_WHILE,
    SHELL_UNTIL,
    SHELL_FOR,
    SHELL_SELECT,
    SHELL_FOR_ARITH,
    SHELL_CASE,
    SHELL_FUNCTION,
    SHELL_COPROC,
    SHELL_LET,  /* ((…)) */
    SHELL_TEST, /* [[…]] */
};

enum shell_clause_end { SHELL_CLAUSE_BREAK, SHELL_CLAUSE_FALL, SHELL_CLAUSE_TEST }; /* ;; ;& ;;& */

struct shell_clause {
    struct shell_span span;
    struct shell_word *patterns;
    struct shell_list *body; /* NULL when empty */
    enum shell_clause_end end;
    struct shell_clause *next;
};

enum shell_test_kind {
    SHELL_TEST_AND,
    SHELL_TEST_OR,
    SHELL_TEST_GROUP,
    SHELL_TEST_UNARY,
    SHELL_TEST_BINARY,
    SHELL_TEST_WORD, /* a word alone, which means -n */
};

struct shell_test {
    enum shell_test_kind kind;
    bool negated;
    struct shell_span span;
    struct shell_text op;
    struct shell_test *left, *right; /* AND, OR; GROUP has `left` */
    struct shell_word *word, *other; /* UNARY and WORD have `word`, BINARY both */
};

struct shell_command {
    enum shell_command_kind kind;
    struct shell_span span;
    struct shell_redirect *redirects;
    struct shell_command *next; /* in a pipeline */
    union {
        struct {
            struct shell_assignment *assignments;
            struct shell_word *words;
        } simple;
        struct shell_list *body; /* SUBSHELL, GROUP */
        struct {
            struct shell_list *condition, *then, *otherwise; /* `elif` is an `if` in the last */
        } branch;
        struct {
            struct shell_list *condition, *body;
        } loop; /* WHILE, UNTIL */
        struct {
            struct shell_word *name, *words; /* without `in`: "$@" */
            struct shell_list *body;
        } each; /* FOR, SELECT */
        struct {
            struct shell_part *init, *test, *step; /* an empty one is 1 */
            struct shell_list *body;
        } arith_loop;
        struct {
            struct shell_word *subject;
            struct shell_clause *clauses;
        } choice; /* CASE */
        struct {
            struct shell_word *name;
            struct shell_command *body;
        } function;
        struct {
            struct shell_word *name; /* NULL before a simple command */
            struct shell_command *body;
        } coproc;
        struct shell_part *expression; /* LET */
        struct shell_test *test;       /* TEST */
    };
};

enum shell_timing { SHELL_NOT_TIMED, SHELL_TIMED, SHELL_TIMED_POSIX };

struct shell_pipeline {
    bool negated;
    enum shell_timing timing;
    bool or_next; /* joined to the next by || instead of && */
    struct shell_span span;
    struct shell_command *commands;
    struct shell_pipeline *next;
};

enum shell_item_end {
    SHELL_END_NONE,
    SHELL_END_SEMICOLON,
    SHELL_END_NEWLINE,
    SHELL_END_BACKGROUND
};

/* One and-or list with what ends it. */
struct shell_item {
    enum shell_item_end end;
    bool line_ends; /* the source has a newline behind it, whatever ended it */
    struct shell_pipeline *pipelines;
    struct shell_item *next;
};

struct shell_list {
    struct shell_span span;
    struct shell_item *items; /* NULL for a text without a command */
};

#endif
