/*
 * Inside the shell room: the state of one reading, and what its files offer each other.
 *
 *   parser.c       shell_parse; lists, pipelines, simple commands
 *   compound.c     if, while, for, case, functions and the like
 *   test.c         [[ ]]
 *   tokens.c       characters → tokens, by the state in which bash's reader would be
 *   words.c        words and their quotes
 *   dollar.c       $x, ${…}, $(…), $((…)), backquotes, <(…)
 *   late.c         text that bash reads once more later: arithmetic, subscripts
 *   assign.c       NAME=VALUE and arrays
 *   documents.c    here-documents
 *
 * A refusal leaves by longjmp: everything lives in the arena, so there is nothing to clean up, and
 * no caller can forget to look at an error.
 */
#ifndef NACRE_SHELL_PARSER_H
#define NACRE_SHELL_PARSER_H

#include <setjmp.h>
#include <string.h>

#include "shell/chars.h"
#include "shell/shell.h"

enum token_kind {
    TOKEN_START, /* before the first token of a text or a substitution */
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_WORD,
    TOKEN_ASSIGNMENT,
    TOKEN_FD, /* a number or {name} in front of a redirection */
    TOKEN_SEMICOLON,
    TOKEN_AMPERSAND,
    TOKEN_PIPE,
    TOKEN_PIPE_BOTH,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_CLAUSE_BREAK, /* ;; */
    TOKEN_CLAUSE_FALL,  /* ;& */
    TOKEN_CLAUSE_TEST,  /* ;;& */
    TOKEN_LESS,
    TOKEN_GREATER,
    TOKEN_APPEND,
    TOKEN_CLOBBER,
    TOKEN_BOTH_WAYS,
    TOKEN_DUP_IN,
    TOKEN_DUP_OUT,
    TOKEN_ALL,
    TOKEN_ALL_APPEND,
    TOKEN_STRING,
    TOKEN_DOCUMENT,
    TOKEN_DOCUMENT_DASH,
    TOKEN_DASH, /* the - of >&- */
    TOKEN_LET,  /* ((…)) */
    TOKEN_FOR_ARITH,
    /* reserved words */
    TOKEN_IF,
    TOKEN_THEN,
    TOKEN_ELSE,
    TOKEN_ELIF,
    TOKEN_FI,
    TOKEN_CASE,
    TOKEN_ESAC,
    TOKEN_FOR,
    TOKEN_SELECT,
    TOKEN_WHILE,
    TOKEN_UNTIL,
    TOKEN_DO,
    TOKEN_DONE,
    TOKEN_IN,
    TOKEN_FUNCTION,
    TOKEN_COPROC,
    TOKEN_TIME,
    TOKEN_TIME_POSIX, /* -p behind time */
    TOKEN_TIME_END,   /* -- behind time */
    TOKEN_BANG,
    TOKEN_BRACE,
    TOKEN_BRACE_END,
    TOKEN_TEST,
    TOKEN_TEST_END,
    TOKEN_COUNT,
};

struct token {
    enum token_kind kind;
    const char *from, *to;
    struct shell_word *word;             /* WORD */
    struct shell_assignment *assignment; /* ASSIGNMENT */
    uint32_t fd;                         /* FD */
    struct shell_text fd_name;           /* FD: {name} */
    struct shell_part *parts;            /* LET, FOR_ARITH */
};

/* A here-document whose body has not been read yet. */
struct pending {
    struct shell_redirect *redirect;
    bool strip_tabs;
    const char *at; /* its operator, for the error */
    struct pending *next;
};

/* The state of the reader that a substitution sets aside and takes back. */
struct reader {
    struct token token;
    bool has_token;               /* `token` was read and not yet taken */
    const char *taken_to;         /* the end of the token taken last */
    enum token_kind last, before; /* the two tokens read last, `token` included */
    bool case_pattern;            /* only `esac` is reserved, nothing is an assignment */
    bool assign_arrays;           /* behind declare and its kin: NAME=( is an array */
    bool leading_redirects;       /* a simple command that has but redirections so far */
    bool more_assignments;        /* the same, but it has assignments */
    bool had_document;            /* a here-document was read in this text or substitution */
    bool had_command;             /* a command was begun in this text or substitution */
    bool case_statement;          /* a `case` was read, its `esac` not yet */
    unsigned expecting_in;        /* names behind for, select and case that had no `in` or `do` */
    unsigned esacs_needed;
    char late_guard;          /* brackets that arithmetic around would count, or 0 */
    unsigned in_command;      /* within this many $( ) */
    bool in_document;         /* the body of a here-document, which bash reads but once */
    bool within_document;     /* in it, or in a substitution in it */
    bool in_array;            /* between the parentheses of an array */
    bool in_quotes;           /* in a ${…} within double quotes */
    const char *bracket_list; /* a $[…] in this word that has a , or a } */
    bool late_command;        /* the late text just read has a command in it */
    unsigned documents;       /* how many are pending */
    struct pending *pending, **pending_tail;
};

struct parser {
    struct arena *arena;
    struct shell_error *error;
    jmp_buf refused;

    const char *source; /* the text as given */
    /* The text that is being read: the source, or what a backquote or a document made of a part. */
    const char *text, *at, *end;
    const uint32_t *map; /* offset in `text` → offset in the source; NULL: `base` + offset */
    uint32_t base;

    unsigned depth;
    unsigned cases;  /* `case` commands read so far */
    unsigned bodies; /* here-documents read so far */
    unsigned braces; /* { without its } so far, in this text */
    struct reader now;
};

/* --- parser.c --- */
_Noreturn void parser_refuse(struct parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void parser_out_of_memory(struct parser *p);
static inline void *parser_alloc(struct parser *p, size_t size)
{
    void *memory = arena_take(p->arena, size);
    if (__builtin_expect(!memory, 0))
        parser_out_of_memory(p);
    return memory;
}
/* Where `at` lies in the text as given. */
static inline uint32_t parser_place(const struct parser *p, const char *at)
{
    size_t offset = (size_t)(at - p->text);
    return p->map ? p->map[offset] : p->base + (uint32_t)offset;
}
struct shell_span parser_span(const struct parser *p, const char *from, const char *to);
void parser_enter(struct parser *p, const char *at); /* one level deeper, or a refusal */
static inline void parser_leave(struct parser *p)
{
    p->depth--;
}

enum list_kind { LIST_COMPOUND, LIST_MAY_BE_EMPTY };
struct shell_list *parse_list(struct parser *p, enum list_kind kind);
struct shell_list *parse_script(struct parser *p);
struct shell_redirect *parse_redirects(struct parser *p);
/* $( … ) behind its parenthesis, up to and with the one that closes it. */
struct shell_list *parse_substitution(struct parser *p, const char *open);

/* A text within the text: `bytes` is arena memory with a NUL behind it. */
struct inner {
    const char *text, *at, *end;
    const uint32_t *map;
    uint32_t base;
    unsigned braces;
    struct reader now;
};
void parser_push(struct parser *p, struct inner *saved, const char *bytes, size_t len,
                 const uint32_t *map, uint32_t base);
void parser_pop(struct parser *p, const struct inner *saved);

/* --- compound.c --- */
bool is_compound(enum token_kind kind);
struct shell_command *parse_compound(struct parser *p); /* redirections behind it included */
struct shell_command *parse_function(struct parser *p, struct shell_word *name, const char *from);
struct shell_command *parse_coproc(struct parser *p);
struct shell_command *parse_simple_from(struct parser *p, struct shell_word *first,
                                        const char *from);

/* --- test.c --- */
struct shell_test *parse_test(struct parser *p);

/* --- tokens.c --- */
enum { SHOWN_MAX = 32 };
/* What stands in the text, safe and short enough for a message. */
const char *shown(char out[static SHOWN_MAX], const char *from, const char *to);
void read_token(struct parser *p);
static inline const struct token *peek(struct parser *p)
{
    if (!p->now.has_token)
        read_token(p);
    return &p->now.token;
}
static inline enum token_kind peek_kind(struct parser *p)
{
    return peek(p)->kind;
}
/* Valid until the next one is looked at. */
static inline const struct token *take(struct parser *p)
{
    const struct token *token = peek(p);
    p->now.has_token = false;
    p->now.taken_to = token->to;
    return token;
}
_Noreturn void unexpected(struct parser *p, const char *expected);
void skip_newlines(struct parser *p);
void skip_blanks(struct parser *p);
void skip_comment(struct parser *p); /* if there is one, up to the end of its line */
static inline bool is_redirection(enum token_kind kind)
{
    return kind == TOKEN_FD || (kind >= TOKEN_LESS && kind <= TOKEN_DOCUMENT_DASH);
}

/* The character at `p->at` with continuations before it skipped. */
static inline void skip_continuations(struct parser *p)
{
    while (p->at[0] == '\\' && p->at[1] == '\n')
        p->at += 2;
}
/* Where the next character lies behind the one at `at`. */
static inline const char *behind(const char *at)
{
    at++;
    while (at[0] == '\\' && at[1] == '\n')
        at += 2;
    return at;
}
void end_of_line(struct parser *p); /* a newline was read: the documents follow */

/* --- words.c --- */
struct parts {
    struct shell_part *first, *last;
    size_t capacity; /* of the last text, when it is a copy */
};
void parts_add(struct parts *parts, struct shell_part *part);
void parts_add_text(struct parser *p, struct parts *parts, enum shell_part_kind kind,
                    const char *bytes, size_t len, const char *from, const char *to);
struct shell_part *new_part(struct parser *p, enum shell_part_kind kind, const char *from);

enum word_mode { WORD_PLAIN, WORD_PATTERN, WORD_REGEX };
struct shell_word *scan_word(struct parser *p, enum word_mode mode);
void scan_word_rest(struct parser *p, struct parts *parts, enum word_mode mode);
/* "…" behind the opening quote, up to and with the closing one. */
struct shell_part *scan_double(struct parser *p, const char *from);
/* The same, where "a" and 'a' are one: as quoted text if it is nothing else. */
void add_double(struct parser *p, struct parts *parts, const char *from);
/* All of the current text, as a here-document's body. */
void scan_document(struct parser *p, struct parts *parts);
/* '…' behind the opening quote. */
void scan_single(struct parser *p, struct parts *parts, const char *from);
void scan_ansi(struct parser *p, struct parts *parts, const char *from);
/* A backslash and the whole character behind it; nothing for a continuation. */
void scan_escape(struct parser *p, struct parts *parts);
static inline bool word_is_text(const struct shell_word *word, const char *text)
{
    const struct shell_part *part = word->parts;
    size_t len = strlen(text);
    return part && !part->next && part->kind == SHELL_TEXT && part->text.len == len &&
           !memcmp(part->text.bytes, text, len);
}

/* --- dollar.c --- */
enum quoting { UNQUOTED, IN_DOUBLE, IN_DOCUMENT, IN_LATE };
/* At a $: adds the expansion, or the $ itself as text. */
void scan_dollar(struct parser *p, struct parts *parts, enum quoting quoting);
void scan_backquote(struct parser *p, struct parts *parts, enum quoting quoting);
void scan_process(struct parser *p, struct parts *parts);

/* --- late.c --- */
enum late_kind {
    LATE_ARITH,     /* up to the ) of $((…)) or ((…)) */
    LATE_BRACKETS,  /* up to the ] of $[…] */
    LATE_SUBSCRIPT, /* up to ] */
    LATE_OPERAND,   /* up to the } of ${…} */
    LATE_PATTERN,   /* the same behind an operator that takes a pattern: its quotes are quotes */
};
/* Where bash counts parentheses to find the end of a command: begun here, looked at when read. */
struct late_mark {
    const char *from;
    unsigned cases, bodies;
    bool outer;
};
struct late_mark mark_commands(struct parser *p);
void check_commands(struct parser *p, const struct late_mark *mark, const char *from);
/* Late text up to what closes it (not taken). */
struct shell_part *scan_late(struct parser *p, enum late_kind kind, const char *from);

/* --- assign.c --- */
/* At a word's start where an assignment may stand: true, and the assignment, if it is one. */
bool scan_assignment(struct parser *p, struct shell_assignment **ret);
void scan_array(struct parser *p, struct parts *parts);

/* --- documents.c --- */
void add_document(struct parser *p, struct shell_redirect *redirect, bool strip_tabs,
                  const char *at);
void read_documents(struct parser *p);

#endif
