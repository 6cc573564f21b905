/* See sexp.h. */
#include "base/sexp.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && !is_blank(c)) || c == 0x7f;
}

/* --- forms out of bytes ----------------------------------------------------------------------- */

void sexp_split_init(struct sexp_split *s, size_t max)
{
    *s = (struct sexp_split){.line = 1, .column = 1};
    buf_init(&s->bytes, &allocator_libc, max);
}

void sexp_split_release(struct sexp_split *s)
{
    buf_release(&s->bytes);
}

static void breaks(struct sexp_split *s, const char *why)
{
    if (s->why)
        return;
    s->why = why;
    s->why_line = s->line;
    s->why_column = s->column;
}

static void end_form(struct sexp_split *s, sexp_split_user *use, void *user)
{
    enum { KEPT = 1 << 16 };
    if (s->bytes.failed)
        breaks(s, s->bytes.failed == -E2BIG ? "the form is too long" : "out of memory");
    if (s->why)
        use(user, NULL, 0, s->why, s->why_line, s->why_column);
    else
        use(user, s->bytes.data, s->bytes.len, NULL, s->form_line, s->form_column);
    if (s->bytes.capacity > KEPT)
        buf_release(&s->bytes);
    buf_clear(&s->bytes);
    s->in_form = s->in_word = false;
    s->why = NULL;
    s->depth = 0;
    s->before = 0;
}

static void begin_form(struct sexp_split *s)
{
    s->in_form = true;
    s->form_line = s->line;
    s->form_column = s->column;
}

/* Within a form, outside of strings and comments. True: the form ends with this byte. */
static bool take_code(struct sexp_split *s, char c)
{
    switch (c) {
    case '(':
        s->depth++; /* as many as there are bytes, at the most */
        return false;
    case ')':
        return --s->depth == 0;
    case '"':
        s->in_string = true;
        return false;
    case ';':
        s->in_comment = true;
        return false;
    case '#':
        s->before = '#';
        return false;
    default:
        if (c == '\\' || c == '|')
            breaks(s, "a backslash or a bar outside of a string");
        else if (is_control(c))
            breaks(s, "a control character outside of a string");
        return false;
    }
}

static bool take_string(struct sexp_split *s, char c)
{
    if (s->escaped)
        s->escaped = false;
    else if (c == '\\')
        s->escaped = true;
    else if (c == '"')
        s->in_string = false;
    return !s->in_string && !s->depth; /* alone, it is a form of its own */
}

static void take_in_block(struct sexp_split *s, char c)
{
    if (s->before == '#' && c == '|') {
        s->block++;
        s->before = 0;
    } else if (s->before == '|' && c == '#') {
        s->block--;
        s->before = 0;
    } else {
        s->before = c;
    }
}

/* Behind a '#'. True: it was a comment. */
static bool take_behind_hash(struct sexp_split *s, char c)
{
    s->before = 0;
    if (c == '|') {
        s->block = 1;
        return true;
    }
    s->in_word = !s->in_form;
    if (!s->in_form)
        begin_form(s);
    breaks(s, "'#' begins what is not read here");
    return false;
}

/* Between two forms. Only a list is one that can be answered. */
static void take_between(struct sexp_split *s, char c)
{
    if (is_blank(c) || c == '\'' || c == '`' || c == ',')
        return;
    if (c == ';') {
        s->in_comment = true;
    } else if (c == '#') {
        s->before = '#';
    } else {
        begin_form(s);
        s->depth = c == '(';
        s->in_string = c == '"';
        s->in_word = c != '(' && c != '"';
        if (c == ')')
            breaks(s, "a parenthesis is closed that was never opened");
        else if (c != '(')
            breaks(s, "a form is a list");
    }
}

static void feed_byte(struct sexp_split *s, char c, sexp_split_user *use, void *user)
{
    bool ends = false;
    if (s->in_string) {
        ends = take_string(s, c);
    } else if (s->block) {
        take_in_block(s, c);
    } else if (s->in_comment) {
        s->in_comment = c != '\n';
    } else if (s->before != '#' || !take_behind_hash(s, c)) {
        if (s->in_word && (is_blank(c) || c == ')' || c == '"' || c == ';'))
            end_form(s, use, user);
        if (s->in_word) {
            s->depth = c == '('; /* what stands at a word is a part of what is broken */
            s->in_word = !s->depth;
        } else if (s->in_form) {
            ends = take_code(s, c);
        } else {
            take_between(s, c);
        }
    }
    if (s->in_form && !s->why)
        buf_append_byte(&s->bytes, c);
    if (ends)
        end_form(s, use, user);
}

void sexp_split_feed(struct sexp_split *s, const char *bytes, size_t len, sexp_split_user *use,
                     void *user)
{
    for (size_t i = 0; i < len; i++) {
        feed_byte(s, bytes[i], use, user);
        s->column++;
        if (bytes[i] == '\n') {
            s->line++;
            s->column = 1;
        }
    }
}

void sexp_split_finish(struct sexp_split *s, sexp_split_user *use, void *user)
{
    if (s->before == '#' && !s->block)
        take_behind_hash(s, ' ');
    if (s->in_form && (s->depth || s->in_string || s->block))
        breaks(s, "the input ends within the form");
    if (s->in_form)
        end_form(s, use, user);
    s->in_string = s->escaped = s->in_comment = false;
    s->block = 0;
}

/* --- values ----------------------------------------------------------------------------------- */

struct reader {
    struct arena *arena;
    const char *text;
    size_t len, at;
    struct err *e;
};

static int wrong(struct reader *r, size_t at, const char *why)
{
    r->at = at;
    return err_set(r->e, -EINVAL, "%s", why);
}

static int skip_block(struct reader *r)
{
    size_t begun = r->at, depth = 0;
    while (r->at < r->len) {
        const char *here = r->text + r->at;
        bool two = r->at + 1 < r->len;
        if (two && here[0] == '#' && here[1] == '|') {
            depth++;
            r->at += 2;
        } else if (two && here[0] == '|' && here[1] == '#') {
            r->at += 2;
            if (--depth == 0)
                return 0;
        } else {
            r->at++;
        }
    }
    return wrong(r, begun, "the comment has no end");
}

/* Blanks, comments and quotes. */
static int skip(struct reader *r)
{
    while (r->at < r->len) {
        char c = r->text[r->at];
        if (is_blank(c) || c == '\'' || c == '`' || c == ',' ||
            (c == '@' && r->at && r->text[r->at - 1] == ',')) {
            r->at++;
        } else if (c == ';') {
            while (r->at < r->len && r->text[r->at] != '\n')
                r->at++;
        } else if (c == '#' && r->at + 1 < r->len && r->text[r->at + 1] == '|') {
            int failed = skip_block(r);
            if (failed < 0)
                return failed;
        } else {
            break;
        }
    }
    return 0;
}

static struct sexp *new_value(struct reader *r, enum sexp_kind kind)
{
    struct sexp *s = arena_take(r->arena, sizeof(*s));
    if (s)
        *s = (struct sexp){.kind = kind, .text = ""};
    else
        err_set(r->e, -ENOMEM, "out of memory");
    return s;
}

static int read_string(struct reader *r, struct sexp **ret)
{
    size_t begun = r->at++, len = 0;
    struct sexp *s = new_value(r, SEXP_STRING);
    const char *end = r->text + r->at;
    while (end < r->text + r->len && *end != '"')
        end += 1 + (*end == '\\' && end + 1 < r->text + r->len);
    char *copy = s ? arena_alloc(r->arena, (size_t)(end - (r->text + r->at)) + 1) : NULL;
    if (!copy)
        return err_set(r->e, -ENOMEM, "out of memory");
    for (; r->at < r->len && r->text[r->at] != '"'; r->at++) {
        char c = r->text[r->at];
        if (c == '\\') {
            c = (char)(r->at + 1 < r->len ? r->text[++r->at] : 0);
            if (c != '"' && c != '\\')
                return wrong(r, r->at, "in a string, \\\" and \\\\ are the only escapes");
        }
        copy[len++] = c;
    }
    if (r->at == r->len)
        return wrong(r, begun, "the string has no end");
    r->at++;
    if (!utf8_valid(copy, len))
        return wrong(r, begun, "the string is not UTF-8");
    copy[len] = '\0';
    s->text = copy;
    s->len = len;
    *ret = s;
    return 0;
}

static bool is_integer(const char *text, size_t len, int64_t *ret)
{
    size_t i = len > 1 && (text[0] == '-' || text[0] == '+');
    int64_t number = 0;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text[i] - '0', &number))
            return false;
    }
    if (text[0] != '-' && __builtin_sub_overflow((int64_t)0, number, &number))
        return false;
    *ret = number;
    return true;
}

static int read_word(struct reader *r, struct sexp **ret)
{
    size_t begun = r->at;
    while (r->at < r->len && !is_blank(r->text[r->at]) && !strchr("()\";'`,", r->text[r->at]) &&
           r->text[r->at]) {
        char c = r->text[r->at];
        if (c == '#' || c == '\\' || c == '|' || is_control(c))
            return wrong(r, r->at, "this character cannot stand in a word");
        r->at++;
    }
    const char *text = r->text + begun;
    size_t len = r->at - begun;
    int64_t number;
    if (!len || (len == 1 && (text[0] == '.' || text[0] == ':')))
        return wrong(r, begun, "nothing that is read here");
    if (!utf8_valid(text, len))
        return wrong(r, begun, "the word is not UTF-8");
    bool integer = is_integer(text, len, &number);
    bool keyword = text[0] == ':';
    struct sexp *s = new_value(r, integer ? SEXP_INTEGER : keyword ? SEXP_KEYWORD : SEXP_SYMBOL);
    char *copy = s ? arena_copy(r->arena, text + keyword, len - keyword) : NULL;
    if (!copy)
        return err_set(r->e, -ENOMEM, "out of memory");
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    s->text = copy;
    s->len = len - keyword;
    s->number = integer ? number : 0;
    *ret = s;
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded */
static int read_form(struct reader *r, unsigned depth, struct sexp **ret)
{
    if (r->text[r->at] == '"')
        return read_string(r, ret);
    if (r->text[r->at] != '(')
        return read_word(r, ret);
    if (depth == SEXP_DEPTH_MAX)
        return wrong(r, r->at, "the form is nested too deep");
    size_t begun = r->at++;
    struct sexp *list = new_value(r, SEXP_LIST), *item = NULL;
    const struct sexp **end = list ? &list->first : NULL;
    int failed = list ? 0 : -ENOMEM;
    while (failed == 0 && (failed = skip(r)) == 0 && r->at < r->len && r->text[r->at] != ')') {
        failed = read_form(r, depth + 1, &item);
        if (failed == 0) {
            *end = item;
            end = &item->next;
        }
    }
    if (failed < 0)
        return failed;
    if (r->at == r->len)
        return wrong(r, begun, "the list has no end");
    r->at++;
    *ret = list;
    return 0;
}

int sexp_read(struct arena *arena, const char *text, size_t len, const struct sexp **ret,
              size_t *ret_offset, struct err *e)
{
    struct reader r = {.arena = arena, .text = text, .len = len, .e = e};
    struct sexp *form = NULL;
    int failed = skip(&r);
    if (failed == 0 && r.at == len)
        failed = wrong(&r, r.at, "there is no form");
    if (failed == 0)
        failed = read_form(&r, 0, &form);
    if (failed == 0)
        failed = skip(&r);
    if (failed == 0 && r.at < len)
        failed = wrong(&r, r.at, "there is more behind the form");
    *ret_offset = r.at;
    if (failed == 0)
        *ret = form;
    return failed;
}

bool sexp_is(const struct sexp *s, enum sexp_kind kind, const char *text)
{
    return s && s->kind == kind && strcmp(s->text, text) == 0 && strlen(text) == s->len;
}

bool sexp_is_nil(const struct sexp *s)
{
    return s && ((s->kind == SEXP_LIST && !s->first) || sexp_is(s, SEXP_SYMBOL, "nil"));
}

const struct sexp *sexp_get(const struct sexp *list, const char *keyword)
{
    if (!list || list->kind != SEXP_LIST)
        return NULL;
    for (const struct sexp *s = list->first; s && s->next; s = s->next->next) {
        if (sexp_is(s, SEXP_KEYWORD, keyword))
            return s->next;
    }
    return NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

void sexp_append_string(struct buf *out, const char *bytes, size_t len)
{
    struct buf safe;
    struct escape state = {0};
    buf_init(&safe, &allocator_libc, 16 * len + 64);
    escape_append(&state, bytes, len, &safe);
    escape_finish(&state, &safe);
    buf_append_byte(out, '"');
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.data[i] == '"' || safe.data[i] == '\\')
            buf_append_byte(out, '\\');
        buf_append_byte(out, safe.data[i]);
    }
    buf_append_byte(out, '"');
    if (safe.failed && !out->failed)
        out->failed = safe.failed;
    buf_release(&safe);
}

void sexp_append_keyword(struct buf *out, const char *name)
{
    buf_append_byte(out, ':');
    for (; *name; name++) {
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9');
        buf_append_byte(out, (char)(plain ? *name : '-'));
    }
}
