/*
 * S-expressions, as Common Lisp and Emacs Lisp print data: lists, strings, keywords, symbols,
 * integers. Nothing is evaluated, and nothing of the reader's syntax that could be is read.
 *
 *   strings    "…" with \" and \\ and no other escape, since the Lisps do not agree on them
 *   keywords   :name, and symbols, in any case: they are kept in lower case
 *   comments   ; to the end of the line, and #| |#, which nest
 *   quotes     ' ` , ,@ before a form are passed over
 *   refused    # of any other kind, \ and | outside of strings, dotted pairs, control characters
 */
#ifndef NACRE_BASE_SEXP_H
#define NACRE_BASE_SEXP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { SEXP_DEPTH_MAX = 64 };

/* --- forms out of bytes ----------------------------------------------------------------------- */

/*
 * Finds where forms begin and end in bytes that come cut anywhere, within a bound. Where a form
 * ends depends on its parentheses, strings and comments alone, whatever else is wrong with it, so
 * that nothing inside of one is ever taken for another: and since a quote inside of a string has a
 * backslash before it, which is refused outside, not even a string that somebody forgot to close
 * turns the text of a later one into a form that has a string in it.
 */
struct sexp_split {
    struct buf bytes;
    size_t depth, block;
    bool in_form, in_word, in_string, escaped, in_comment;
    char before;                   /* the byte before, where it counts */
    const char *why;               /* it is broken; NULL */
    size_t line, column;           /* of the next byte, from 1 */
    size_t form_line, form_column; /* where it began */
    size_t why_line, why_column;
};

/* `bytes` NULL: a form that is broken at this place, and why; else where it begins. */
typedef void sexp_split_user(void *user, const char *bytes, size_t len, const char *why,
                             size_t line, size_t column);

void sexp_split_init(struct sexp_split *s, size_t max);
void sexp_split_release(struct sexp_split *s);
void sexp_split_feed(struct sexp_split *s, const char *bytes, size_t len, sexp_split_user *use,
                     void *user);
/* The input has ended: what was begun is broken. */
void sexp_split_finish(struct sexp_split *s, sexp_split_user *use, void *user);

/* --- values ----------------------------------------------------------------------------------- */

enum sexp_kind { SEXP_LIST, SEXP_STRING, SEXP_KEYWORD, SEXP_SYMBOL, SEXP_INTEGER };

struct sexp {
    enum sexp_kind kind;
    const struct sexp *first, *next; /* of a list; in a list */
    const char *text;                /* of a string, a keyword without its colon, a symbol */
    size_t len;
    int64_t number;
};

/* One form, all of `text`. -EINVAL with the offset of what is wrong in `ret_offset`, -ENOMEM. */
int sexp_read(struct arena *arena, const char *text, size_t len, const struct sexp **ret,
              size_t *ret_offset, struct err *e);

bool sexp_is(const struct sexp *s, enum sexp_kind kind, const char *text);
/* nil or (). */
bool sexp_is_nil(const struct sexp *s);
/* The value behind a keyword in a property list; NULL: there is none. */
const struct sexp *sexp_get(const struct sexp *list, const char *keyword);

/* --- writing ---------------------------------------------------------------------------------- */

/* A string that both Lisps read: bytes that are no UTF-8, or that a terminal would obey, are shown
 * as escapes first (escape.h). */
void sexp_append_string(struct buf *out, const char *bytes, size_t len);
/* A keyword of a name; what could not stand in one becomes a dash. */
void sexp_append_keyword(struct buf *out, const char *name);

#endif
