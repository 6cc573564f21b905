/* Help for people, from the tables; see options.h. */
#include <string.h>

#include "base/options.h"

enum { LINE_MAX_COLUMNS = 80, LABEL_MAX_COLUMNS = 28 };

/* Columns of UTF-8 text, taking every character as one column wide. */
static size_t columns(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void append_spaces(struct buf *out, size_t count)
{
    while (count--)
        buf_append_byte(out, ' ');
}

/* Text to be filled into lines: the column that was reached, and where later lines start. */
struct filling {
    struct buf *out;
    size_t column;
    size_t indent;
    bool glued; /* nothing stands on this line yet that would need a space before the next word */
};

static void fill(struct filling *f, const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        if (*text == ' ' || *text == '\n') {
            text++;
            continue;
        }
        const char *word = text;
        while (text < end && *text != ' ' && *text != '\n')
            text++;
        size_t width = columns(word, (size_t)(text - word));
        if (!f->glued && f->column + 1 + width > LINE_MAX_COLUMNS) {
            buf_append_byte(f->out, '\n');
            append_spaces(f->out, f->indent);
            f->column = f->indent;
            f->glued = true;
        }
        if (!f->glued) {
            buf_append_byte(f->out, ' ');
            f->column++;
        }
        buf_append(f->out, word, (size_t)(text - word));
        f->column += width;
        f->glued = false;
    }
}

static void fill_text(struct filling *f, const char *text)
{
    if (text)
        fill(f, text, strlen(text));
}

/* The left column: the label, then spaces up to `indent`, on a new line if it is too long. */
static struct filling start_row(struct buf *out, const char *label, size_t len, size_t indent)
{
    size_t width = 2 + columns(label, len);
    append_spaces(out, 2);
    buf_append(out, label, len);
    if (width + 2 > indent) {
        buf_append_byte(out, '\n');
        width = 0;
    }
    append_spaces(out, indent - width);
    return (struct filling){.out = out, .column = indent, .indent = indent, .glued = true};
}

int options_help_program(const struct command *const *commands, struct buf *out)
{
    size_t widest = 0;
    for (size_t i = 0; commands[i]; i++) {
        size_t width = columns(commands[i]->name, strlen(commands[i]->name));
        if (width > widest && width <= LABEL_MAX_COLUMNS)
            widest = width;
    }

    buf_append_text(out, "usage: nacre COMMAND [options] [args]\n\ncommands:\n");
    for (; *commands; commands++) {
        const char *name = (*commands)->name;
        struct filling row = start_row(out, name, strlen(name), widest + 4);
        fill_text(&row, (*commands)->summary);
        buf_append_byte(out, '\n');
    }
    return buf_append_text(
        out, "\n'nacre COMMAND --help' says more about a command; 'nacre --version'\n");
}

static void append_label(struct buf *out, const struct option *o)
{
    if (o->letter)
        buf_append_format(out, "-%c, --%s", o->letter, o->name);
    else
        buf_append_format(out, "    --%s", o->name);
    const char *value = options_value_name(o);
    if (value)
        buf_append_format(out, " %s", value);
}

static void pass_failure(const struct buf *from, struct buf *to)
{
    if (!to->failed)
        to->failed = from->failed;
}

static void append_options(const struct command *command, struct buf *out)
{
    struct buf text;
    buf_init(&text, out->allocator, out->max);
    size_t widest = 0;
    const struct option *o = NULL;
    while ((o = options_next(command, o))) {
        buf_clear(&text);
        append_label(&text, o);
        pass_failure(&text, out);
        size_t width = columns(text.data, text.len);
        if (width > widest && width <= LABEL_MAX_COLUMNS)
            widest = width;
    }
    while ((o = options_next(command, o))) {
        buf_clear(&text);
        append_label(&text, o);
        struct filling row = start_row(out, text.data, text.len, widest + 4);
        pass_failure(&text, out);
        buf_clear(&text);
        options_append_help(o, &text);
        pass_failure(&text, out);
        fill(&row, text.data, text.len);
        buf_append_byte(out, '\n');
    }
    buf_release(&text);
}

int options_help_command(const struct command *command, struct buf *out)
{
    buf_append_text(out, "usage: nacre");
    struct filling usage = {.out = out, .column = strlen("usage: nacre"), .indent = 8};
    fill_text(&usage, command->name);
    fill_text(&usage, "[options]");
    fill_text(&usage, command->synopsis);
    buf_append_text(out, "\n\n");

    const char *rest = command->description ? command->description : command->summary;
    struct options_piece paragraph;
    while (options_next_paragraph(&rest, &paragraph)) {
        struct filling f = {.out = out, .glued = true};
        if (paragraph.example)
            buf_append(out, paragraph.text, paragraph.len);
        else
            fill(&f, paragraph.text, paragraph.len);
        buf_append_text(out, "\n\n");
    }

    buf_append_text(out, "options:\n");
    append_options(command, out);
    return out->failed;
}
