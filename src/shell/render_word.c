/*
 * Words in canonical form: literal text that was quoted in any way is in single quotes, parameters
 * have braces, substitutions are $( ) and $(( )).
 */
#include <string.h>

#include "base/utf8.h"
#include "shell/render.h"

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 127;
}

/* $'…': for what a text may not have as it stands, and what a terminal would obey. */
static void render_ansi(struct buf *out, const char *bytes, size_t len)
{
    static const char LETTERS[] = "n\nr\re\033a\ab\bf\fv\v";
    buf_append_text(out, "$'");
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        const char *letter = c ? strchr(LETTERS, c) : NULL;
        if (letter && (letter - LETTERS) % 2) {
            buf_append_byte(out, '\\');
            buf_append_byte(out, letter[-1]);
            continue;
        }
        if (is_control(c) || c == '\'') {
            buf_append_format(out, "\\%03o", (unsigned)(unsigned char)c);
            continue;
        }
        if (c == '\\')
            buf_append_byte(out, '\\');
        buf_append_byte(out, c);
    }
    buf_append_byte(out, '\'');
}

void render_single_quoted(struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_control(bytes[i])) {
            render_ansi(out, bytes, len);
            return;
        }
    }
    buf_append_byte(out, '\'');
    const char *end = bytes + len;
    for (const char *quote; (quote = memchr(bytes, '\'', (size_t)(end - bytes)));
         bytes = quote + 1) {
        buf_append(out, bytes, (size_t)(quote - bytes));
        buf_append_text(out, "'\\''");
    }
    buf_append(out, bytes, (size_t)(end - bytes));
    buf_append_byte(out, '\'');
}

static void render_escaped(struct buf *out, const struct shell_text *text, const char *special)
{
    size_t start = 0;
    for (size_t i = 0; i < text->len; i++) {
        if (strchr(special, text->bytes[i])) {
            buf_append(out, text->bytes + start, i - start);
            buf_append_byte(out, '\\');
            start = i;
        }
    }
    buf_append(out, text->bytes + start, text->len - start);
}

/* Whether newlines in the text were escapes in the source: as they are they would move lines. */
static bool hides_newlines(const struct render *r, const struct shell_part *part)
{
    uint32_t count = count_lines(part->text.bytes, part->text.bytes + part->text.len);
    return count && r->source &&
           count != count_lines(r->source + part->span.from, r->source + part->span.to);
}

static void render_quoted(struct render *r, const struct shell_part *part, enum word_place place)
{
    const struct shell_text *text = &part->text;
    switch (place) {
    case PLACE_DOUBLE:
        render_escaped(r->out, text, "$`\"\\");
        return;
    case PLACE_DOCUMENT:
        render_escaped(r->out, text, "$`\\");
        return;
    case PLACE_LATE: /* a pattern in quotes: no '\'' there, and no line more than there was */
        if (memchr(text->bytes, '\'', text->len) || memchr(text->bytes, '\n', text->len))
            render_ansi(r->out, text->bytes, text->len);
        else
            render_single_quoted(r->out, text->bytes, text->len);
        return;
    default:
        break;
    }
    const char *bytes = text->bytes;
    size_t len = text->len;
    /* Behind a $ by itself a quote would make another kind of quote of it. */
    if (len && r->out->len && r->out->data[r->out->len - 1] == '$') {
        uint32_t character;
        size_t first = utf8_decode(bytes, len, &character, NULL);
        first = first ? first : 1;
        buf_append_byte(r->out, '\\');
        buf_append(r->out, bytes, first);
        bytes += first;
        len -= first;
        if (!len)
            return;
    }
    if (hides_newlines(r, part)) {
        render_ansi(r->out, bytes, len);
    } else if (r->in_array && r->in_command && memchr(bytes, '\'', len)) {
        /* Within an array in a substitution bash's first look does not see a backslash. */
        buf_append_byte(r->out, '"');
        render_escaped(r->out, &(struct shell_text){bytes, (uint32_t)len}, "$`\"\\");
        buf_append_byte(r->out, '"');
    } else {
        render_single_quoted(r->out, bytes, len);
    }
}

static void render_param(struct render *r, const struct shell_param *param, enum word_place place)
{
    if (param->bare) {
        buf_append_byte(r->out, '$');
        buf_append(r->out, param->name.bytes, param->name.len);
        return;
    }
    buf_append_text(r->out, "${");
    if (param->length)
        buf_append_byte(r->out, '#');
    if (param->indirect)
        buf_append_byte(r->out, '!');
    buf_append(r->out, param->name.bytes, param->name.len);
    if (param->has_subscript) {
        buf_append_byte(r->out, '[');
        render_parts(r, param->subscript, PLACE_LATE);
        buf_append_byte(r->out, ']');
    }
    buf_append(r->out, param->op.bytes, param->op.len);
    bool late = place != PLACE_WORD || param->bad;
    render_parts(r, param->operand, late ? PLACE_LATE : PLACE_WORD);
    buf_append_byte(r->out, '}');
}

static void render_array(struct render *r, const struct shell_part *part)
{
    const struct shell_assignment *element = part->elements;
    bool outer = r->in_array;
    r->in_array = true;
    buf_append_byte(r->out, '(');
    for (bool first = true; element; element = element->next, first = false) {
        if (!first)
            buf_append_byte(r->out, ' ');
        render_join_lines(r, element->span.from);
        render_assignment(r, element);
    }
    if (part->span.to)
        render_join_lines(r, part->span.to - 1);
    buf_append_byte(r->out, ')');
    r->in_array = outer;
}

void render_parts(struct render *r, const struct shell_part *part, enum word_place place)
{
    for (; part; part = part->next) {
        switch (part->kind) {
        case SHELL_TEXT:
            buf_append(r->out, part->text.bytes, part->text.len);
            break;
        case SHELL_QUOTED:
            render_quoted(r, part, place);
            break;
        case SHELL_DOUBLE:
            buf_append_byte(r->out, '"');
            render_parts(r, part->parts, PLACE_DOUBLE);
            buf_append_byte(r->out, '"');
            break;
        case SHELL_PARAM:
            render_param(r, part->param, place);
            break;
        case SHELL_ARITH:
            buf_append_text(r->out, "$((");
            render_parts(r, part->parts, PLACE_LATE);
            buf_append_text(r->out, "))");
            break;
        case SHELL_COMMAND:
            buf_append_byte(r->out, '$');
            render_substitution(r, part->list, part->span.to);
            break;
        case SHELL_PROCESS:
            buf_append_byte(r->out, part->op);
            render_substitution(r, part->list, part->span.to);
            break;
        case SHELL_EXTGLOB:
            if (part->op)
                buf_append_byte(r->out, part->op);
            buf_append_byte(r->out, '(');
            render_parts(r, part->parts, PLACE_WORD);
            buf_append_byte(r->out, ')');
            break;
        case SHELL_ARRAY:
            render_array(r, part);
            break;
        }
    }
}

void render_word(struct render *r, const struct shell_word *word)
{
    render_join_lines(r, word->span.from);
    render_parts(r, word->parts, PLACE_WORD);
    /* bash's line of a command is that of the token behind its first word. */
    render_join_lines(r, word->span.to);
}

void render_assignment(struct render *r, const struct shell_assignment *assignment)
{
    buf_append(r->out, assignment->name.bytes, assignment->name.len);
    if (assignment->has_subscript) {
        buf_append_byte(r->out, '[');
        render_parts(r, assignment->subscript, PLACE_LATE);
        buf_append_byte(r->out, ']');
    }
    if (assignment->name.len || assignment->has_subscript)
        buf_append_text(r->out, assignment->append ? "+=" : "=");
    render_parts(r, assignment->value.parts, PLACE_WORD);
    render_join_lines(r, assignment->span.to);
}

void shell_render_word(const struct shell_word *word, struct buf *out)
{
    struct render r = {.out = out};
    r.documents_tail = &r.documents;
    arena_init(&r.arena, out->allocator, SIZE_MAX);
    render_parts(&r, word->parts, PLACE_WORD);
    render_end(&r);
}
