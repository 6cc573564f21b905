/*
 * Here-documents: the body is read when the line that names it ends.
 *
 * With an unquoted delimiter, lines that end in a backslash are joined before anything is compared
 * or stripped, and the body is expanded; with a quoted one every byte is as it stands.
 */
#include <string.h>

#include "shell/parser.h"

enum { DOCUMENTS_MAX = 16 }; /* bash's own limit */

/* The delimiter's text, by quote removal and nothing else. */
static void read_delimiter(struct parser *p, struct shell_redirect *redirect, const char *at)
{
    const struct shell_part *part = redirect->target.parts;
    size_t len = 0;
    for (const struct shell_part *each = part; each; each = each->next) {
        if (each->kind != SHELL_TEXT && each->kind != SHELL_QUOTED)
            parser_refuse(p, at, "the delimiter of a here-document may not have an expansion");
        if (each->kind == SHELL_TEXT && memchr(each->text.bytes, '$', each->text.len))
            parser_refuse(p, at, "a '$' in the delimiter of a here-document");
        redirect->quoted |= each->kind == SHELL_QUOTED;
        len += each->text.len;
    }
    char *bytes = parser_alloc(p, len + 1);
    redirect->delimiter = (struct shell_text){bytes, (uint32_t)len};
    for (; part; part = part->next) {
        memcpy(bytes, part->text.bytes, part->text.len);
        bytes += part->text.len;
    }
    if (memchr(redirect->delimiter.bytes, '\n', len))
        parser_refuse(p, at, "a newline in the delimiter of a here-document");
}

void add_document(struct parser *p, struct shell_redirect *redirect, bool strip_tabs,
                  const char *at)
{
    struct pending *pending = parser_alloc(p, sizeof(*pending));
    *pending = (struct pending){.redirect = redirect, .strip_tabs = strip_tabs, .at = at};
    read_delimiter(p, redirect, at);
    p->now.had_document = true;
    p->bodies++;
    if (++p->now.documents > DOCUMENTS_MAX)
        parser_refuse(p, at, "more than %d here-documents on a line", DOCUMENTS_MAX);
    *p->now.pending_tail = pending;
    p->now.pending_tail = &pending->next;
}

/* The end of the logical line at `at`: its newline, or the end of the text. */
static const char *line_end(const struct parser *p, const char *at, bool joined)
{
    for (;;) {
        const char *newline = memchr(at, '\n', (size_t)(p->end - at));
        if (!newline)
            return p->end;
        if (!joined)
            return newline;
        /* An odd number of backslashes before the newline joins the next line. */
        const char *slash = newline;
        while (slash > at && slash[-1] == '\\')
            slash--;
        if ((newline - slash) % 2 == 0)
            return newline;
        at = newline + 1;
    }
}

static const char *skip_joints(const char *at, bool joined)
{
    while (joined && at[0] == '\\' && at[1] == '\n')
        at += 2;
    return at;
}

static const char *skip_tabs(const char *at, bool joined)
{
    for (at = skip_joints(at, joined); *at == '\t';)
        at = skip_joints(at + 1, joined);
    return at;
}

/* Whether the line begins with the delimiter; `rest` is what follows it. */
static bool begins_with(const char *at, const struct shell_text *delimiter, bool joined,
                        const char **rest)
{
    for (uint32_t i = 0; i < delimiter->len; i++) {
        at = skip_joints(at, joined);
        if (*at++ != delimiter->bytes[i])
            return false;
    }
    *rest = skip_joints(at, joined);
    return true;
}

/* Finds the line that ends the body: where it begins; `p->at` is behind it then. */
static const char *find_end(struct parser *p, const struct pending *pending)
{
    const struct shell_redirect *redirect = pending->redirect;
    const struct shell_text *delimiter = &redirect->delimiter;
    bool joined = !redirect->quoted;
    while (p->at < p->end) {
        const char *line = p->at, *end = line_end(p, line, joined), *rest;
        p->at = end < p->end ? end + 1 : end;
        if (begins_with(line, delimiter, joined, &rest) && rest == end)
            return line;
        const char *text = pending->strip_tabs ? skip_tabs(line, joined) : line;
        if (!begins_with(text, delimiter, joined, &rest))
            continue;
        if (rest == end)
            return line;
        if (p->now.in_command && rest < end && memchr(rest, ')', (size_t)(end - rest)))
            parser_refuse(p, text,
                          "put the ')' on a line of its own: bash would end the "
                          "here-document here");
    }
    char text[SHOWN_MAX];
    parser_refuse(p, pending->at, "no line '%s' ends this here-document",
                  shown(text, delimiter->bytes, delimiter->bytes + delimiter->len));
}

/* The body without tabs that are stripped and lines that are joined, and where each byte was. */
struct body {
    char *bytes;
    uint32_t *map;
    size_t len;
};

static void copy_body(struct parser *p, const struct pending *pending, const char *from,
                      const char *to, struct body *body)
{
    bool joined = !pending->redirect->quoted;
    body->bytes = parser_alloc(p, (size_t)(to - from) + 1);
    body->map = parser_alloc(p, ((size_t)(to - from) + 1) * sizeof(*body->map));
    for (const char *at = from; at < to;) {
        const char *end = line_end(p, at, joined) + 1;
        if (pending->strip_tabs)
            at = skip_tabs(at, joined);
        while (at < end) {
            if (joined && at[0] == '\\' && at[1] == '\n') {
                at += 2;
                continue;
            }
            int pair = joined && at[0] == '\\' ? 2 : 1;
            for (; pair; pair--, at++) {
                body->map[body->len] = parser_place(p, at);
                body->bytes[body->len++] = *at;
            }
        }
    }
    body->map[body->len] = parser_place(p, to);
}

static bool has_any(const char *from, const char *to, const char *bytes)
{
    for (; *bytes; bytes++) {
        if (memchr(from, *bytes, (size_t)(to - from)))
            return true;
    }
    return false;
}

static void read_document(struct parser *p, const struct pending *pending)
{
    struct shell_redirect *redirect = pending->redirect;
    const char *from = p->at, *to = find_end(p, pending);
    bool live = !redirect->quoted && has_any(from, to, "$`\\");
    struct parts parts = {0};
    redirect->target = (struct shell_word){.span = parser_span(p, from, to)};

    if (!live && !pending->strip_tabs && !(p->map && !redirect->quoted)) {
        if (to > from)
            parts_add_text(p, &parts, SHELL_QUOTED, from, (size_t)(to - from), from, to);
        redirect->target.parts = parts.first;
        return;
    }
    struct body body = {0};
    copy_body(p, pending, from, to, &body);
    struct inner saved;
    parser_push(p, &saved, body.bytes, body.len, body.map, 0);
    p->now.in_document = p->now.within_document = true;
    if (redirect->quoted) {
        if (body.len)
            parts_add_text(p, &parts, SHELL_QUOTED, body.bytes, body.len, p->at, p->end);
    } else {
        scan_document(p, &parts);
    }
    parser_pop(p, &saved);
    redirect->target.parts = parts.first;
}

void read_documents(struct parser *p)
{
    while (p->now.pending) {
        struct pending *pending = p->now.pending;
        read_document(p, pending);
        p->now.pending = pending->next;
    }
    p->now.pending_tail = &p->now.pending;
    p->now.documents = 0;
}
