/* One run in markdown and in org; see format.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "history/format.h"

enum { STREAM_MAX = 64 << 20 };

static void take(struct buf *out, struct buf *piece)
{
    if (piece->failed && !out->failed)
        out->failed = piece->failed;
    buf_append(out, piece->data, piece->len);
    buf_release(piece);
}

/* What both begin with: one line of the command's, and how it ended. */
static void append_title(struct buf *out, const struct history_run *run)
{
    const struct entry *entry = &run->main->entry;
    size_t len = entry->command.bytes ? entry->command.len : 0;
    const char *end = len ? memchr(entry->command.bytes, '\n', len) : NULL;
    if (end)
        len = (size_t)(end - entry->command.bytes);
    format_safe(out, len ? entry->command.bytes : "", len, true, false);
    if (end)
        buf_append_text(out, " ...");
}

static void append_end(struct buf *out, const struct history_run *run)
{
    if (run->main->entry.has_exit_code)
        buf_append_format(out, "exit code %d", run->main->entry.exit_code);
    else
        buf_append_text(out, run->status);
}

/* The safe text of one stream; `ret_any`: it has some. */
static void get_stream(const struct history_run *run, int stream, struct buf *ret, bool *ret_any,
                       bool *ret_left_out)
{
    struct buf raw;
    buf_init(&raw, &allocator_libc, STREAM_MAX);
    buf_init(ret, &allocator_libc, (size_t)STREAM_MAX * 4);
    if (format_stream(run, stream, &raw, ret_left_out) < 0)
        ret->failed = raw.failed;
    else
        format_safe(ret, raw.data, raw.len, false, false);
    *ret_any = raw.len > 0;
    buf_release(&raw);
}

/* What both show, each in its own way. */
static void append_fields(struct buf *out, const struct history_run *run,
                          void (*field)(struct buf *out, const char *name, const char *text))
{
    const struct entry *entry = &run->main->entry;
    char number[FORMAT_TIME];
    struct buf counts;
    const struct {
        const char *name, *text;
    } texts[] = {
        {"run", entry->id},
        {"time", entry->time},
        {"status", run->status},
        {"verdict", entry->verdict},
        {"rule", entry->rule},
        {"language", entry->script.language},
        {"script", entry->script.object[0] ? entry->script.object : NULL},
        {"agent", entry->agent},
        {"job", entry->job},
        {"workspace", entry->workspace},
        {"directory", entry->working_dir},
        {"approved by", entry->confirmed_by},
        {"limit", entry->limit},
        {"error", entry->error},
        {"hash before", entry->fs_hash_before},
        {"hash after", entry->fs_hash_after},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].text)
            field(out, texts[i].name, texts[i].text);
    }
    if (entry->output.known) {
        format_duration(true, entry->duration_ms, number);
        field(out, "duration", number);
    }
    if (entry->changes.known) {
        buf_init(&counts, &allocator_libc, 1 << 12);
        format_change_counts(&entry->changes, &counts);
        field(out, "changes", counts.data);
        buf_release(&counts);
    }
    snprintf(number, sizeof(number), "%" PRIu64, run->main->index);
    field(out, "ledger entry", number);
    field(out, "entry hash", run->main->hash);
}

/* --- markdown -------------------------------------------------------------------------------- */

/* Nothing in the text is markup. */
static void markdown_text(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\`*_{}[]<>()#+-.!|~&$", text[i]))
            buf_append_byte(out, '\\');
        buf_append_byte(out, text[i]);
    }
}

static void markdown_field(struct buf *out, const char *name, const char *text)
{
    struct buf safe;
    buf_init(&safe, &allocator_libc, 1 << 20);
    format_safe(&safe, text, strlen(text), true, false);
    buf_append_format(out, "| %s | ", name);
    markdown_text(out, safe.data, safe.len);
    buf_append_text(out, " |\n");
    buf_release(&safe);
}

/* A fence is longer than any row of its characters inside. */
static void markdown_block(struct buf *out, const char *language, const char *text, size_t len)
{
    size_t longest = 0, row = 0, fence;
    for (size_t i = 0; i < len; i++) {
        row = text[i] == '`' ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    fence = longest < 3 ? 3 : longest + 1;
    for (size_t i = 0; i < fence; i++)
        buf_append_byte(out, '`');
    buf_append_format(out, "%s\n", language);
    buf_append(out, text, len);
    if (len && text[len - 1] != '\n')
        buf_append_byte(out, '\n');
    for (size_t i = 0; i < fence; i++)
        buf_append_byte(out, '`');
    buf_append_text(out, "\n");
}

static void markdown_stream(struct buf *out, const struct history_run *run, int stream,
                            const char *name)
{
    struct buf text;
    bool any, left_out;
    get_stream(run, stream, &text, &any, &left_out);
    if (any) {
        buf_append_format(out, "\n%s%s:\n\n", name, left_out ? " (not all of it)" : "");
        markdown_block(out, "", text.data, text.len);
    }
    text.len = 0;
    take(out, &text);
}

int format_run_markdown(const struct history_run *run, struct buf *out)
{
    const struct entry *entry = &run->main->entry;
    struct buf text;
    buf_append_text(out, "## ");
    buf_init(&text, &allocator_libc, 1 << 20);
    append_title(&text, run);
    markdown_text(out, text.data, text.len);
    buf_release(&text);
    buf_append_text(out, " (");
    append_end(out, run);
    buf_append_text(out, ")\n\n| | |\n|---|---|\n");
    append_fields(out, run, markdown_field);
    if (entry->command.bytes) {
        buf_append_text(out, "\n");
        buf_init(&text, &allocator_libc, 1 << 20);
        format_safe(&text, entry->command.bytes, entry->command.len, false, false);
        markdown_block(out, "sh", text.data, text.len);
        text.len = 0;
        take(out, &text);
    }
    markdown_stream(out, run, 1, "stdout");
    markdown_stream(out, run, 2, "stderr");
    return out->failed;
}

/* --- org ------------------------------------------------------------------------------------- */

static void org_field(struct buf *out, const char *name, const char *text)
{
    buf_append_byte(out, ':');
    for (const char *s = name; *s; s++)
        buf_append_format(out, "%c", *s == ' ' ? '_' : toupper((unsigned char)*s));
    buf_append_text(out, ": ");
    format_safe(out, text, strlen(text), true, false);
    buf_append_byte(out, '\n');
}

/* A line that org would read as a heading or as the block's end gets a comma, as do those that have
 * one there already. */
static bool org_needs_comma(const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    while (line < end && *line == ',')
        line++;
    return line < end && (*line == '*' || (*line == '#' && line + 1 < end && line[1] == '+'));
}

static void org_block(struct buf *out, const char *kind, const char *language, const char *text,
                      size_t len)
{
    buf_append_format(out, "#+begin_%s%s\n", kind, language);
    for (const char *at = text, *end = text + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        if (org_needs_comma(at, stop)) {
            /* Behind the blanks, where org looks for it. */
            for (; *at == ' ' || *at == '\t'; at++)
                buf_append_byte(out, *at);
            buf_append_byte(out, ',');
        }
        buf_append(out, at, (size_t)(stop - at));
        buf_append_byte(out, '\n');
        at = stop + 1;
    }
    buf_append_format(out, "#+end_%s\n", kind);
}

static void org_stream(struct buf *out, const struct history_run *run, int stream, const char *name)
{
    struct buf text;
    bool any, left_out;
    get_stream(run, stream, &text, &any, &left_out);
    if (any) {
        buf_append_format(out, "%s%s:\n", name, left_out ? " (not all of it)" : "");
        org_block(out, "example", "", text.data, text.len);
    }
    text.len = 0;
    take(out, &text);
}

int format_run_org(const struct history_run *run, struct buf *out)
{
    const struct entry *entry = &run->main->entry;
    struct buf text;
    buf_append_text(out, "* ");
    append_title(out, run);
    buf_append_text(out, " (");
    append_end(out, run);
    buf_append_text(out, ")\n:PROPERTIES:\n");
    append_fields(out, run, org_field);
    buf_append_text(out, ":END:\n");
    if (entry->command.bytes) {
        buf_init(&text, &allocator_libc, 1 << 20);
        format_safe(&text, entry->command.bytes, entry->command.len, false, false);
        org_block(out, "src", " sh", text.data, text.len);
        text.len = 0;
        take(out, &text);
    }
    org_stream(out, run, 1, "stdout");
    org_stream(out, run, 2, "stderr");
    return out->failed;
}
