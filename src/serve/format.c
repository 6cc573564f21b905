/* See format.h. */
#include "serve/format.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "base/options.h"
#include "base/utf8.h"

enum { SAFE_MAX = 256 << 20 };

enum format format_named(const char *name)
{
    const char *rest = FORMAT_CHOICES;
    struct options_piece choice;
    for (int i = 0; name && options_next_choice(&rest, &choice); i++) {
        if (strlen(name) == choice.len && memcmp(name, choice.text, choice.len) == 0)
            return (enum format)i;
    }
    return FORMAT_TEXT;
}

/* --- texts from inside ------------------------------------------------------------------------ */

/* Nothing in it that a terminal or an editor would obey. */
static void make_safe(struct format_piece piece, struct buf *ret)
{
    struct escape state = {0};
    buf_init(ret, &allocator_libc, SAFE_MAX);
    escape_append(&state, piece.bytes, piece.len, ret);
    escape_finish(&state, ret);
}

/* On one line. */
static void append_line(struct format_piece piece, struct buf *out)
{
    struct buf safe;
    make_safe(piece, &safe);
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.data[i] == '\n')
            buf_append_text(out, "\\n");
        else
            buf_append_byte(out, (char)(safe.data[i] == '\t' ? ' ' : safe.data[i]));
    }
    if (safe.failed && !out->failed)
        out->failed = safe.failed;
    buf_release(&safe);
}

static struct format_piece text_piece(const char *text)
{
    return (struct format_piece){text ? text : "", text ? strlen(text) : 0};
}

/* --- org -------------------------------------------------------------------------------------- */

/* Whether org would read a line, behind `blanks` of it, as its own; commas before it are its
 * escape.
 */
static bool is_org(const char *line, size_t len, size_t *ret_blanks)
{
    size_t at = 0;
    while (at < len && (line[at] == ' ' || line[at] == '\t'))
        at++;
    *ret_blanks = at;
    while (at < len && line[at] == ',')
        at++;
    return at < len &&
           (line[at] == '*' || (line[at] == '#' && at + 1 < len && line[at + 1] == '+'));
}

/* Its lines, each with an end. */
static void append_org_lines(struct format_piece piece, struct buf *out)
{
    struct buf safe;
    make_safe(piece, &safe);
    for (const char *line = safe.data, *end = safe.data + safe.len; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((newline ? newline : end) - line), blanks;
        if (is_org(line, len, &blanks)) {
            buf_append(out, line, blanks);
            buf_append_byte(out, ',');
            buf_append(out, line + blanks, len - blanks);
        } else {
            buf_append(out, line, len);
        }
        buf_append_byte(out, '\n');
        line += len + 1;
    }
    if (!safe.len)
        buf_append_byte(out, '\n');
    if (safe.failed && !out->failed)
        out->failed = safe.failed;
    buf_release(&safe);
}

static void append_org_block(struct format_piece piece, struct buf *out)
{
    buf_append_text(out, "#+begin_example\n");
    append_org_lines(piece, out);
    buf_append_text(out, "#+end_example");
}

void format_org_text(struct format_piece text, struct buf *out)
{
    append_org_lines(text, out);
}

void format_org(const struct format_result *result, struct buf *out)
{
    buf_append_text(out, "* Shell Command Result\n- Command: ");
    append_line(result->command, out);
    buf_append_format(out, "\n- Exit Code: %d\n** STDOUT\n", result->exit_code);
    append_org_block(result->output, out);
    buf_append_text(out, "\n** STDERR\n");
    append_org_block(result->errors, out);
}

/* --- property lists --------------------------------------------------------------------------- */

void format_lisp_string(const char *bytes, size_t len, struct buf *out)
{
    buf_append_byte(out, '"');
    while (len) {
        uint32_t character;
        size_t used = utf8_decode(bytes, len, &character, NULL);
        if (!used) {
            buf_append_text(out, "\xEF\xBF\xBD");
            used = 1;
        } else {
            if (*bytes == '"' || *bytes == '\\')
                buf_append_byte(out, '\\');
            buf_append(out, bytes, used);
        }
        bytes += used;
        len -= used;
    }
    buf_append_byte(out, '"');
}

static void append_property(const char *name, struct format_piece piece, struct buf *out)
{
    buf_append_format(out, " :%s ", name);
    format_lisp_string(piece.bytes, piece.len, out);
}

void format_sexp(const struct format_result *result, struct buf *out)
{
    buf_append_text(out, "(:type :EVENT :payload (:sensor :shell-response");
    append_property("cmd", result->command, out);
    append_property("stdout", result->output, out);
    append_property("stderr", result->errors, out);
    buf_append_format(out, " :exit-code %d", result->exit_code);
    if (result->synthesis)
        buf_append_text(out, " :synthesis-p t");
    buf_append_text(out, "))");
}

/* --- markdown --------------------------------------------------------------------------------- */

/* Longer than any that is inside. */
static size_t fence_length(const struct buf *text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text->len; i++) {
        run = text->data[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest + 1;
}

static void append_fence(size_t len, struct buf *out)
{
    while (len--)
        buf_append_byte(out, '`');
}

static void append_markdown_block(const char *title, const char *kind, struct format_piece piece,
                                  struct buf *out)
{
    struct buf safe;
    make_safe(piece, &safe);
    size_t fence = fence_length(&safe);
    buf_append_format(out, "%s\n\n", title);
    append_fence(fence, out);
    buf_append_format(out, "%s\n", kind);
    buf_append(out, safe.data, safe.len);
    if (safe.len && safe.data[safe.len - 1] != '\n')
        buf_append_byte(out, '\n');
    append_fence(fence, out);
    buf_append_byte(out, '\n');
    if (safe.failed && !out->failed)
        out->failed = safe.failed;
    buf_release(&safe);
}

/* A line of prose: what markdown would read in it is escaped. */
static void append_prose(const char *text, struct buf *out)
{
    struct buf line;
    buf_init(&line, &allocator_libc, SAFE_MAX);
    append_line(text_piece(text), &line);
    for (size_t i = 0; i < line.len; i++) {
        if (strchr("\\`*_{}[]<>()#+-!|&~", line.data[i]))
            buf_append_byte(out, '\\');
        buf_append_byte(out, line.data[i]);
    }
    buf_release(&line);
}

static void append_markdown(const struct format_result *result, const char *status, struct buf *out)
{
    append_markdown_block("## Shell command", "sh", result->command, out);
    buf_append_format(out, "\n%s, exit code %d\n", status, result->exit_code);
    append_markdown_block("\n### stdout", "", result->output, out);
    append_markdown_block("\n### stderr", "", result->errors, out);
}

/* --- from JSON -------------------------------------------------------------------------------- */

static struct format_piece piece_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value)
               ? (struct format_piece){json_string_value(value), json_string_length(value)}
               : (struct format_piece){"", 0};
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

struct format_result format_result_of(const json_t *value)
{
    struct format_result result = {
        .command = piece_of(value, "command"),
        .output = piece_of(value, "stdout"),
        .errors = piece_of(value, "stderr"),
        .exit_code = (int)json_integer_value(json_object_get(value, "exit_code")),
        .synthesis = json_is_true(json_object_get(value, "synthesis")),
    };
    /* What never ran has said nothing, but why. */
    if (!result.output.len && !result.errors.len)
        result.errors = piece_of(value, "error");
    return result;
}

int format_result_json(const char *json, size_t len, enum format form, struct buf *out)
{
    json_t *value = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(value)) {
        json_decref(value);
        return -EBADMSG;
    }
    const struct format_result result = format_result_of(value);
    if (form == FORMAT_ORG)
        format_org(&result, out);
    else if (form == FORMAT_SEXP)
        format_sexp(&result, out);
    else
        append_markdown(&result, text_of(value, "status"), out);
    if (form != FORMAT_MARKDOWN)
        buf_append_byte(out, '\n');
    json_decref(value);
    return out->failed;
}

static void append_reason(const json_t *reason, enum format form, struct buf *out)
{
    const char *rule = text_of(reason, "rule"), *why = text_of(reason, "reason");
    if (form == FORMAT_SEXP) {
        buf_append_text(out, " (:rule ");
        format_lisp_string(rule, strlen(rule), out);
        append_property("reason", text_piece(why), out);
        buf_append_byte(out, ')');
    } else if (form == FORMAT_ORG) {
        buf_append_text(out, "- ");
        append_line(text_piece(rule), out);
        buf_append_text(out, " :: ");
        append_line(text_piece(why), out);
        buf_append_byte(out, '\n');
    } else {
        buf_append_text(out, "- **");
        append_prose(rule, out);
        buf_append_text(out, "**: ");
        append_prose(why, out);
        buf_append_byte(out, '\n');
    }
}

static void begin_verdict(const json_t *verdict, struct format_piece command, enum format form,
                          struct buf *out)
{
    const char *decision = text_of(verdict, "decision"), *rule = text_of(verdict, "rule");
    if (form == FORMAT_SEXP) {
        buf_append_text(out, "(:type :EVENT :payload (:sensor :shell-verdict");
        append_property("cmd", command, out);
        buf_append_format(out, " :decision :%s", decision);
        append_property("rule", text_piece(rule), out);
        append_property("mandate-hash", text_piece(text_of(verdict, "mandate_hash")), out);
        buf_append_text(out, " :reasons (");
    } else if (form == FORMAT_ORG) {
        buf_append_text(out, "* Shell Command Verdict\n- Command: ");
        append_line(command, out);
        buf_append_format(out, "\n- Decision: %s\n- Rule: ", decision);
        append_line(text_piece(rule), out);
        buf_append_text(out, "\n** Reasons\n");
    } else {
        append_markdown_block("## Verdict on a shell command", "sh", command, out);
        buf_append_format(out, "\n**%s** by the rule ", decision);
        append_prose(rule, out);
        buf_append_text(out, "\n\n");
    }
}

int format_verdict_json(const char *json, size_t len, const char *command, size_t command_len,
                        enum format form, struct buf *out)
{
    json_t *value = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(value)) {
        json_decref(value);
        return -EBADMSG;
    }
    const json_t *reasons = json_object_get(value, "reasons");
    begin_verdict(value, (struct format_piece){command, command_len}, form, out);
    for (size_t i = 0; i < json_array_size(reasons); i++)
        append_reason(json_array_get(reasons, i), form, out);
    if (form == FORMAT_SEXP)
        buf_append_text(out, ")))\n");
    json_decref(value);
    return out->failed;
}

void format_plan(const char *lines, size_t len, enum format form, struct buf *out)
{
    if (form == FORMAT_ORG) {
        buf_append_text(out, "* Sandbox Plan\n");
        append_org_block((struct format_piece){lines, len}, out);
        buf_append_byte(out, '\n');
    } else if (form == FORMAT_MARKDOWN) {
        append_markdown_block("## Sandbox plan", "", (struct format_piece){lines, len}, out);
    } else {
        buf_append_text(out, "(:type :EVENT :payload (:sensor :shell-plan :steps (");
        for (const char *end = lines + len; lines < end;) {
            const char *newline = memchr(lines, '\n', (size_t)(end - lines));
            size_t line = (size_t)((newline ? newline : end) - lines);
            format_lisp_string(lines, line, out);
            lines += line + 1;
            buf_append_text(out, lines < end ? " " : "");
        }
        buf_append_text(out, ")))\n");
    }
}
