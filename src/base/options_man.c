/*
 * The manual's part about commands, in mdoc, from the tables; see options.h. The page that takes it
 * in provides the section around it.
 */
#include <string.h>

#include "base/options.h"
#include "base/utf8.h"

/* mandoc finds longer lines untidy. */
enum { LINE_MAX_BYTES = 78 };

/* A page that is being written: what matters is where the current line stands. */
struct page {
    struct buf *out;
    size_t start; /* of the current line in `out` */
};

static void new_line(struct page *p)
{
    buf_append_byte(p->out, '\n');
    p->start = p->out->len;
}

static void put_line(struct page *p, const char *line)
{
    buf_append_text(p->out, line);
    new_line(p);
}

static bool line_empty(const struct page *p)
{
    return p->out->len == p->start;
}

/* One character: what roff would obey or prettify becomes an escape. */
static void put_char(struct page *p, uint32_t c, bool literal_dash)
{
    static const char *const escapes[0x80] = {
        ['\\'] = "\\e",  ['"'] = "\\(dq", ['\''] = "\\(aq",
        ['`'] = "\\(ga", ['^'] = "\\(ha", ['~'] = "\\(ti",
    };
    if (c >= 0x80)
        buf_append_format(p->out, "\\[u%04X]", (unsigned)c);
    else if (c == '-' && literal_dash)
        buf_append_text(p->out, "\\-");
    else if (escapes[c])
        buf_append_text(p->out, escapes[c]);
    else
        buf_append_byte(p->out, (char)c);
}

/* A word. Its dashes are literal when it is an option, and hyphens when it is like-this. */
static void put_word(struct page *p, const char *word, size_t len, bool literal_dash)
{
    static const char opening[] = "'\"`([{|";
    const char *first = word;
    while (first < word + len && strchr(opening, *first))
        first++;
    literal_dash = literal_dash || (first < word + len && *first == '-');
    if (len && *word == '.')
        buf_append_text(p->out, "\\&");
    for (size_t at = 0, n; at < len; at += n) {
        uint32_t c = 0xFFFD;
        n = utf8_decode(word + at, len - at, &c, NULL);
        n = n ? n : 1;
        put_char(p, c, literal_dash);
    }
}

static bool ends_sentence(const char *word, size_t len)
{
    while (len && strchr(")]'\"", word[len - 1]))
        len--;
    return len && strchr(".!?", word[len - 1]);
}

/* Filled text. Every sentence starts on a new line, which is how roff spaces them. */
static void put_text(struct page *p, const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        size_t n = 0;
        while (text + n < end && text[n] != ' ' && text[n] != '\n')
            n++;
        if (n == 0) {
            text++;
            continue;
        }
        size_t before = p->out->len;
        bool first = line_empty(p);
        if (!first)
            buf_append_byte(p->out, ' ');
        put_word(p, text, n, false);
        /* How long a word becomes shows only now: let the space before it be the line's end. */
        if (!first && p->out->len - p->start > LINE_MAX_BYTES && !p->out->failed) {
            p->out->data[before] = '\n';
            p->start = before + 1;
        }
        if (ends_sentence(text, n))
            new_line(p);
        text += n;
    }
    if (!line_empty(p))
        new_line(p);
}

/* Lines as they are, without the first one's indent. */
static void put_example(struct page *p, const char *text, size_t len)
{
    size_t indent = strspn(text, " ");
    put_line(p, ".Bd -literal -offset indent");
    for (const char *end = text + len; text < end; text++) {
        for (size_t i = 0; i < indent && text < end && *text == ' '; i++)
            text++;
        size_t n = 0;
        while (text + n < end && text[n] != '\n')
            n++;
        put_word(p, text, n, true);
        new_line(p);
        text += n;
    }
    put_line(p, ".Ed");
}

static void put_synopsis(struct page *p, const struct command *command)
{
    put_line(p, ".Bd -ragged -offset indent");
    put_line(p, ".Nm nacre");
    buf_append_text(p->out, ".Cm ");
    put_word(p, command->name, strlen(command->name), true);
    new_line(p);
    put_line(p, ".Op Ar options");
    if (command->synopsis)
        put_text(p, command->synopsis, strlen(command->synopsis));
    put_line(p, ".Ed");
}

/* " Ar text" on a macro line, where words like "Ar" would be macros and "." punctuation. */
static void put_argument(struct page *p, const char *macro, const char *text, size_t len)
{
    buf_append_format(p->out, " %s", macro);
    for (size_t at = 0, n; at < len; at += n + 1) {
        n = 0;
        while (at + n < len && text[at + n] != ' ')
            n++;
        buf_append_byte(p->out, ' ');
        if (n <= 3)
            buf_append_text(p->out, "\\&");
        put_word(p, text + at, n, true);
    }
}

static void put_option(struct page *p, const struct option *o)
{
    buf_append_text(p->out, ".It");
    if (o->letter)
        buf_append_format(p->out, " Fl %c ,", o->letter);
    buf_append_text(p->out, " Fl \\-");
    put_word(p, o->name, strlen(o->name), true);

    const char *value = options_value_name(o);
    if (value && value == o->choices) {
        struct options_piece choice;
        for (const char *before = ""; options_next_choice(&value, &choice); before = " |") {
            buf_append_text(p->out, before);
            put_argument(p, "Cm", choice.text, choice.len);
        }
    } else if (value) {
        put_argument(p, "Ar", value, strlen(value));
    }
    new_line(p);

    struct buf help;
    buf_init(&help, p->out->allocator, p->out->max);
    if (options_append_help(o, &help) < 0 && !p->out->failed)
        p->out->failed = help.failed;
    put_text(p, help.data, help.len);
    buf_release(&help);
}

int options_man_tables(const struct command *const *commands, struct buf *out)
{
    struct page p = {.out = out, .start = out->len};
    for (; *commands; commands++) {
        const struct command *command = *commands;
        buf_append_text(out, ".Ss ");
        put_word(&p, command->name, strlen(command->name), true);
        new_line(&p);
        put_synopsis(&p, command);

        const char *rest = command->description ? command->description : command->summary;
        struct options_piece paragraph;
        while (options_next_paragraph(&rest, &paragraph)) {
            if (paragraph.example) {
                put_example(&p, paragraph.text, paragraph.len);
            } else {
                put_line(&p, ".Pp");
                put_text(&p, paragraph.text, paragraph.len);
            }
        }

        put_line(&p, ".Bl -tag -width Ds");
        const struct option *o = NULL;
        while ((o = options_next(command, o)))
            put_option(&p, o);
        put_line(&p, ".El");
    }
    return out->failed;
}
