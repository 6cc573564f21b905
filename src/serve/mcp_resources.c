/*
 * Resources: what is recorded of this workspace's runs, by address.
 *
 *   nacre://run/ID            the whole record, JSON
 *   nacre://run/ID/stdout     what it printed, as far as it is kept
 *   nacre://run/ID/stderr
 *   nacre://run/ID/diff       what it changed, as a patch
 *   nacre://ledger/INDEX      one entry of the ledger, as it stands there
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "changes/transaction.h"
#include "history/format.h"
#include "serve/mcp_internal.h"

enum { LISTED = 20, RESOURCE_MAX = 16 << 20, URI_MAX = 128 };

enum part { PART_RECORD, PART_STDOUT, PART_STDERR, PART_DIFF, PART_LEDGER };

static const struct {
    const char *name, *uri, *title, *type;
} parts[] = {
    [PART_RECORD] = {"run", "nacre://run/{id}", "A run in full", "application/json"},
    [PART_STDOUT] = {"stdout", "nacre://run/{id}/stdout", "Standard output of a run", "text/plain"},
    [PART_STDERR] = {"stderr", "nacre://run/{id}/stderr", "Standard error of a run", "text/plain"},
    [PART_DIFF] = {"diff", "nacre://run/{id}/diff", "What a run changed", "text/x-diff"},
    [PART_LEDGER] = {"ledger", "nacre://ledger/{index}", "An entry of the ledger",
                     "application/json"},
};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* --- lists -------------------------------------------------------------------------------------
 */

struct listing {
    const struct past_place *place;
    struct json *json;
    uint64_t count;
};

static int list_row(void *user, const struct history_row *row)
{
    struct listing *l = user;
    struct json *j = l->json;
    struct buf text;
    if (!past_is_here(l->place, row->workspace))
        return 0;
    if (l->count++ == LISTED)
        return 1;
    for (enum part part = PART_RECORD; part <= PART_DIFF; part++) {
        if (part == PART_STDERR || (part == PART_DIFF && !row->changes))
            continue;
        buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
        json_object_begin(j);
        buf_append_format(&text, "nacre://run/%s%s%s", row->id, part ? "/" : "",
                          part ? parts[part].name : "");
        json_key(j, "uri");
        json_text(j, text.data);
        buf_clear(&text);
        buf_append_format(&text, "%.8s %s", row->id, parts[part].name);
        json_key(j, "name");
        json_text(j, text.data);
        buf_clear(&text);
        mcp_show_line(row->command, row->command_len, 120, &text);
        json_key(j, "description");
        json_bytes(j, text.data, text.len);
        json_key(j, "mimeType");
        json_text(j, parts[part].type);
        json_object_end(j);
        buf_release(&text);
    }
    return 0;
}

void mcp_resources_list(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct past_place place;
    struct history *h = NULL;
    struct err e = {0};
    struct json j;
    struct listing l = {.place = &place, .json = &j};
    int r = mcp_place_open(call->m, &place, &e);
    if (r < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return;
    }
    const struct history_filter filter = {.workspace = place.setting.workspace.root};
    r = past_history_open(&place, &h, &e);
    mcp_result_begin(&j, reply, call, true);
    json_key(&j, "resources");
    json_array_begin(&j);
    if (r == 0)
        r = history_list(h, &filter, list_row, &l, &e);
    json_array_end(&j);
    mcp_result_end(&j, reply);
    if (r < 0 && r != -ENOENT)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    history_close(h);
    past_place_close(&place);
}

void mcp_resources_templates(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct json j;
    mcp_result_begin(&j, reply, call, true);
    json_key(&j, "resourceTemplates");
    json_array_begin(&j);
    for (size_t i = 0; i < PARTS; i++) {
        json_object_begin(&j);
        json_key(&j, "uriTemplate");
        json_text(&j, parts[i].uri);
        json_key(&j, "name");
        json_text(&j, parts[i].name);
        json_key(&j, "title");
        json_text(&j, parts[i].title);
        json_key(&j, "mimeType");
        json_text(&j, parts[i].type);
        json_object_end(&j);
    }
    json_array_end(&j);
    mcp_result_end(&j, reply);
}

/* --- one ----------------------------------------------------------------------------------------
 */

struct address {
    enum part part;
    char id[UUID_TEXT + 1]; /* or the index */
};

static bool read_address(const char *uri, struct address *ret)
{
    static const char run[] = "nacre://run/", ledger[] = "nacre://ledger/";
    const char *at;
    size_t len;
    if (strncmp(uri, ledger, sizeof(ledger) - 1) == 0) {
        at = uri + sizeof(ledger) - 1;
        len = strspn(at, "0123456789");
        ret->part = PART_LEDGER;
    } else if (strncmp(uri, run, sizeof(run) - 1) == 0) {
        at = uri + sizeof(run) - 1;
        len = strspn(at, "0123456789abcdef-");
        ret->part = PART_RECORD;
        /* A whole id: the start of one may be another's tomorrow. */
        if (len != UUID_TEXT)
            return false;
    } else {
        return false;
    }
    if (!len || len > UUID_TEXT)
        return false;
    memcpy(ret->id, at, len);
    ret->id[len] = '\0';
    at += len;
    if (!*at)
        return true;
    for (enum part part = PART_STDOUT; ret->part == PART_RECORD && part <= PART_DIFF; part++) {
        if (at[0] == '/' && strcmp(at + 1, parts[part].name) == 0) {
            ret->part = part;
            return true;
        }
    }
    return false;
}

static int read_entry(const struct past_record *record, uint64_t index, struct buf *out,
                      struct err *e)
{
    const struct history_run *run = &record->run;
    const struct history_entry *found = NULL;
    if (run->has_result && run->result.index == index)
        found = &run->result;
    else if (run->has_intent && run->intent.index == index)
        found = &run->intent;
    for (size_t i = 0; i < run->later_count; i++)
        found = run->later[i].index == index ? &run->later[i] : found;
    if (!found)
        return err_set(e, -ENOENT, "there is no such entry of this workspace");
    const struct mcp_showing whole = {0};
    return mcp_show_json_text(&whole, found->record, found->record_len, out);
}

static int read_part(struct past_record *record, const struct address *address, struct buf *out,
                     struct err *e)
{
    const struct mcp_showing shown = {.limit = RESOURCE_MAX / 4, .keep = MCP_KEEP_BOTH};
    struct transaction t = TRANSACTION_NONE;
    struct buf bytes;
    bool more = false;
    int r = 0;
    buf_init(&bytes, &allocator_libc, JSONRPC_REPLY_MAX);
    switch (address->part) {
    case PART_RECORD:
        r = format_run_json(&record->run, &bytes);
        if (r == 0)
            r = mcp_show_json_text(&shown, bytes.data, bytes.len, out);
        break;
    case PART_STDOUT:
    case PART_STDERR:
        r = format_stream(&record->run, address->part == PART_STDOUT ? 1 : 2, &bytes, &more);
        if (r == 0)
            mcp_show_text(&shown, bytes.data, bytes.len, out);
        break;
    case PART_DIFF:
        r = transaction_open(&record->place.arena, record->place.setting.state_dir,
                             record->run.main->entry.id, &t, e);
        if (r == 0)
            r = past_patch(&t, RESOURCE_MAX, &bytes, &more, e);
        if (r == 0)
            mcp_show_text(&shown, bytes.data, bytes.len, out);
        transaction_close(&t);
        break;
    case PART_LEDGER:
        r = read_entry(record, strtoull(address->id, NULL, 10), out, e);
        break;
    }
    buf_release(&bytes);
    return r < 0 && e->code == 0 ? err_errno(e, r, "it cannot be shown") : r;
}

static void fail(struct jsonrpc_reply *reply, const char *uri, const char *why)
{
    struct json j;
    jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "resource not found: %s", why);
    json_init_buf(&j, &reply->data);
    json_object_begin(&j);
    json_key(&j, "uri");
    json_text(&j, uri);
    json_object_end(&j);
}

void mcp_resources_read(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    const json_t *value = json_object_get(call->params, "uri");
    const char *uri = json_string_value(value);
    struct address address;
    struct past_record record;
    struct buf text;
    struct err e = {0};
    struct json j;
    if (!uri || json_string_length(value) > URI_MAX) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "uri is not a text of at most %d bytes",
                           URI_MAX);
        return;
    }
    if (strlen(uri) != json_string_length(value) || !read_address(uri, &address)) {
        fail(reply, uri, "it has not the form of any");
        return;
    }
    if (mcp_record_open(call->m, address.id, &record, &e) < 0) {
        fail(reply, uri, e.message);
        return;
    }
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    if (read_part(&record, &address, &text, &e) < 0) {
        fail(reply, uri, e.message);
    } else {
        mcp_result_begin(&j, reply, call, true);
        json_key(&j, "contents");
        json_array_begin(&j);
        json_object_begin(&j);
        json_key(&j, "uri");
        json_text(&j, uri);
        json_key(&j, "mimeType");
        json_text(&j, parts[address.part].type);
        json_key(&j, "text");
        json_bytes(&j, text.data, text.len);
        json_object_end(&j);
        json_array_end(&j);
        mcp_result_end(&j, reply);
    }
    buf_release(&text);
    past_record_close(&record);
}
