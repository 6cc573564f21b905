/* Inside the shell room: the state of one rendering; render.c has commands, render_word.c words. */
#ifndef NACRE_SHELL_RENDER_H
#define NACRE_SHELL_RENDER_H

#include "shell/shell.h"

struct document; /* a here-document whose body follows at the next newline */

struct render {
    struct buf *out;
    struct arena arena; /* for bodies that are rendered ahead */

    /* Lines: what is written on line N of the source is written on line N, where that can be. */
    bool keep_lines;
    bool flat; /* no line ends where a ; will do */
    const char *source;
    uint32_t source_at, source_line;
    size_t out_at;
    uint32_t out_line;

    unsigned in_command; /* within this many $( ) */
    bool in_array;       /* between the parentheses of an array */
    struct document *documents, **documents_tail;
};

enum word_place {
    PLACE_WORD,
    PLACE_DOUBLE,
    PLACE_DOCUMENT,
    PLACE_LATE, /* text as it stands */
};

/* A failure of the arena becomes one of the output. */
void render_end(struct render *r);

uint32_t count_lines(const char *from, const char *to); /* newlines */
void render_parts(struct render *r, const struct shell_part *part, enum word_place place);
void render_word(struct render *r, const struct shell_word *word);
void render_single_quoted(struct buf *out, const char *bytes, size_t len);
void render_assignment(struct render *r, const struct shell_assignment *assignment);

/* What is inside $( ) or <( ); `to` is where that ends in the source. */
void render_substitution(struct render *r, const struct shell_list *list, uint32_t to);
/* Continuations up to the line on which `offset` is. */
void render_join_lines(struct render *r, uint32_t offset);

#endif
