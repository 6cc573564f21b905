/* What comes back: JSON of a session as property lists; see sexp_server.h. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "serve/format.h"
#include "serve/sexp_server.h"

enum { DEPTH_MAX = 100 };

static void put_id(const struct sexp *id, struct buf *out)
{
    if (!id)
        return;
    buf_append_text(out, " :id ");
    if (id->kind == SEXP_INTEGER)
        buf_append_format(out, "%" PRId64, id->number);
    else if (id->kind == SEXP_KEYWORD)
        sexp_append_keyword(out, id->text);
    else
        sexp_append_string(out, id->text, id->len);
}

/* A word that a program looks at, and nobody reads: status and decision. */
static bool is_word(const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    return text && text[0] && (strcmp(key, "status") == 0 || strcmp(key, "decision") == 0) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == strlen(text);
}

static void put_pairs(const json_t *object, const char *const *but, unsigned depth,
                      struct buf *out);

/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded */
static void put_value(const char *key, const json_t *value, unsigned depth, struct buf *out)
{
    if (depth > DEPTH_MAX) {
        buf_append_text(out, "nil");
        return;
    }
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (is_word(key, value))
            sexp_append_keyword(out, json_string_value(value));
        else
            sexp_append_string(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        buf_append_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        buf_append_format(out, "%.6f", json_real_value(value));
        break;
    case JSON_TRUE:
        buf_append_byte(out, 't');
        break;
    case JSON_ARRAY:
        buf_append_byte(out, '(');
        for (size_t i = 0; i < json_array_size(value); i++) {
            buf_append_text(out, i ? " " : "");
            put_value("", json_array_get(value, i), depth + 1, out);
        }
        buf_append_byte(out, ')');
        break;
    case JSON_OBJECT:
        buf_append_byte(out, '(');
        put_pairs(value, NULL, depth + 1, out);
        buf_append_byte(out, ')');
        break;
    default:
        buf_append_text(out, "nil");
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded */
static void put_pairs(const json_t *object, const char *const *but, unsigned depth, struct buf *out)
{
    const char *key;
    json_t *value;
    bool first = depth > 0;
    json_object_foreach((json_t *)object, key, value)
    {
        const char *const *other = but;
        while (other && *other && strcmp(*other, key) != 0)
            other++;
        if (other && *other)
            continue;
        buf_append_text(out, first ? "" : " ");
        first = false;
        sexp_append_keyword(out, key);
        buf_append_byte(out, ' ');
        put_value(key, value, depth, out);
    }
}

static void put_text(const char *name, const json_t *result, const char *key, struct buf *out)
{
    const json_t *value = json_object_get(result, key);
    buf_append_format(out, " :%s ", name);
    sexp_append_string(out, json_is_string(value) ? json_string_value(value) : "",
                       json_string_length(value));
}

void sexp_say_result(const char *method, const struct sexp *id, const json_t *result,
                     struct buf *out)
{
    static const char *const said[] = {"command",   "stdout",    "stderr",
                                       "exit_code", "synthesis", NULL};
    bool runs = strcmp(method, "exec") == 0 || strcmp(method, "script") == 0;
    buf_append_text(out, "(:type :EVENT");
    put_id(id, out);
    buf_append_text(out, " :payload (:sensor ");
    if (runs) {
        buf_append_text(out, ":shell-response");
        put_text("cmd", result, "command", out);
        put_text("stdout", result, "stdout", out);
        put_text("stderr", result, "stderr", out);
        buf_append_format(out, " :exit-code %" JSON_INTEGER_FORMAT " :synthesis-p %s",
                          json_integer_value(json_object_get(result, "exit_code")),
                          json_is_true(json_object_get(result, "synthesis")) ? "t" : "nil");
    } else {
        buf_append_text(out, ":shell-");
        for (const char *c = method; *c; c++)
            buf_append_byte(out, (char)(*c == '_' ? '-' : *c));
    }
    put_pairs(result, runs ? said : NULL, 0, out);
    buf_append_text(out, "))\n");
}

void sexp_say_error(const struct sexp *id, const struct jsonrpc_reply *why, size_t line,
                    size_t column, struct buf *out)
{
    buf_append_text(out, "(:type :EVENT");
    put_id(id, out);
    buf_append_text(out, " :payload (:sensor :shell-error :message ");
    sexp_append_string(out, why->message, strlen(why->message));
    buf_append_format(out, " :code %d", why->code);
    if (line)
        buf_append_format(out, " :line %zu :column %zu", line, column);
    json_t *data = why->data.len ? json_loadb(why->data.data, why->data.len, 0, NULL) : NULL;
    if (json_is_object(data))
        put_pairs(data, NULL, 0, out);
    json_decref(data);
    buf_append_text(out, "))\n");
}

/* --- a chat ---------------------------------------------------------------------------------- */

void sexp_say_chat(const struct policy *policy, const json_t *result, struct buf *out)
{
    const char *const *chat = policy ? policy->messages.chat : NULL;
    const json_t *analysis = json_object_get(result, "analysis");
    struct buf text;
    if (!chat || !chat[CHAT_BUFFER])
        return;
    buf_init(&text, &allocator_libc, JSONRPC_REPLY_MAX);
    const struct format_result shown = format_result_of(result);
    const struct format_piece asked = {json_string_value(analysis), json_string_length(analysis)};
    if (asked.bytes)
        format_org_text(asked, &text);
    else
        format_org(&shown, &text);
    buf_append_text(out, "(:type :request :target ");
    sexp_append_keyword(out, chat[CHAT_TARGET] ? chat[CHAT_TARGET] : "emacs");
    buf_append_text(out, " :payload (:action ");
    sexp_append_keyword(out, chat[CHAT_ACTION] ? chat[CHAT_ACTION] : "insert-at-end");
    buf_append_text(out, " :buffer ");
    sexp_append_string(out, chat[CHAT_BUFFER], strlen(chat[CHAT_BUFFER]));
    buf_append_text(out, " :text ");
    sexp_append_string(out, text.data, text.len);
    buf_append_text(out, "))\n");
    if (text.failed && !out->failed)
        out->failed = text.failed;
    buf_release(&text);
}
