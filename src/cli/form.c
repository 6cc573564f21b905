/* See form.h. */
#include "cli/form.h"

#include <unistd.h>

#include "base/escape.h"

enum { DOCUMENT_MAX = 512 << 20 };

enum format form_of(bool json, const char *format)
{
    return json && !format ? FORMAT_JSON : format_named(format);
}

static int append(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

/* Prints and releases. */
static int print(struct buf *document, int failure)
{
    struct buf safe;
    struct escape state = {.ascii_only = !cli_terminal_is_utf8()};
    if (failure < 0 && !document->failed)
        document->failed = failure;
    if (!isatty(STDOUT_FILENO))
        return cli_print_buf(document);
    buf_init(&safe, &allocator_libc, DOCUMENT_MAX);
    escape_append(&state, document->data, document->len, &safe);
    escape_finish(&state, &safe);
    if (document->failed && !safe.failed)
        safe.failed = document->failed;
    buf_release(document);
    return cli_print_buf(&safe);
}

int form_print_result(const nacre_result *r, enum format form)
{
    struct buf json, document;
    buf_init(&json, &allocator_libc, DOCUMENT_MAX);
    buf_init(&document, &allocator_libc, DOCUMENT_MAX);
    int failure = nacre_result_write_json(r, append, &json);
    if (failure == 0)
        failure = format_result_json(json.data, json.len, form, &document);
    buf_release(&json);
    return print(&document, failure);
}

int form_print_verdict(const struct verdict *verdict, const char *text, size_t len,
                       enum format form)
{
    struct buf json, document;
    struct json j;
    buf_init(&json, &allocator_libc, DOCUMENT_MAX);
    buf_init(&document, &allocator_libc, DOCUMENT_MAX);
    json_init_buf(&j, &json);
    verdict_write_json(verdict, &j);
    int failure = json_finish(&j);
    if (failure == 0)
        failure = format_verdict_json(json.data, json.len, text, len, form, &document);
    buf_release(&json);
    return print(&document, failure);
}

int form_print_plan(const struct buf *lines, enum format form)
{
    struct buf document;
    buf_init(&document, &allocator_libc, DOCUMENT_MAX);
    format_plan(lines->data, lines->len, form, &document);
    return print(&document, lines->failed);
}
