/* history and diff: what was, of this workspace's runs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "changes/transaction.h"
#include "history/format.h"
#include "history/when.h"
#include "serve/mcp_internal.h"

enum { LIST_DEFAULT = 20, RUN_MAX = 256 << 20 };

/* --- history -----------------------------------------------------------------------------------
 */

struct listing {
    const struct past_place *place;
    const struct mcp_showing *showing;
    struct mcp_said *said;
    struct json json;
    uint64_t limit, count, last;
};

static int list_row(void *user, const struct history_row *row)
{
    struct listing *l = user;
    struct buf one;
    struct json j;
    if (!past_is_here(l->place, row->workspace))
        return 0;
    if (l->count == l->limit)
        return 1;
    l->count++;
    l->last = row->index;
    buf_init(&one, &allocator_libc, MCP_SHOWN_MAX);
    json_init_buf(&j, &one);
    format_row_json(row, &j);
    json_t *value = json_loadb(one.data, one.len, JSON_ALLOW_NUL, NULL);
    if (value)
        mcp_show_json(l->showing, value, &l->json);
    json_decref(value);
    buf_release(&one);
    buf_append_format(&l->said->text, "%.8s  %-18s ", row->id, row->status ? row->status : "-");
    mcp_show_line(row->command, row->command_len, 200, &l->said->text);
    buf_append_byte(&l->said->text, '\n');
    return l->said->text.failed;
}

static void say_list(struct mcp_call *call, const struct past_place *place, struct history *h,
                     struct mcp_said *said)
{
    const struct mcp_showing showing = {.limit = 1000, .keep = MCP_KEEP_HEAD};
    const char *since = mcp_text(call, "since", NULL);
    struct history_filter filter = {
        .status = mcp_text(call, "status", NULL),
        .text = mcp_text(call, "text", NULL),
        .path = mcp_text(call, "path", NULL),
        .before = mcp_count(call, "before", 0),
        .workspace = place->setting.workspace.root,
    };
    struct listing l = {.place = place,
                        .showing = &showing,
                        .said = said,
                        .limit = mcp_count(call, "limit", LIST_DEFAULT)};
    struct err e = {0};
    if (since && when_parse(since, clock_utc_ms(), &filter.since_ms) < 0) {
        mcp_said_error(said, "since", "is no time such as 2h, 3d or 2026-01-31T12:00:00Z");
        return;
    }
    json_init_buf(&l.json, &said->structured);
    json_object_begin(&l.json);
    json_key(&l.json, "status");
    json_text(&l.json, "ok");
    json_key(&l.json, "runs");
    json_array_begin(&l.json);
    int r = h ? history_list(h, &filter, list_row, &l, &e) : 0;
    json_array_end(&l.json);
    json_key(&l.json, "more");
    json_bool(&l.json, r > 0);
    if (r > 0) {
        json_key(&l.json, "next_before");
        json_unsigned(&l.json, l.last);
        buf_append_format(&said->text, "there are more: before = %" PRIu64 "\n", l.last);
    }
    json_object_end(&l.json);
    if (!l.count)
        buf_append_text(&said->text, "none\n");
    if (r < 0)
        mcp_said_error(said, NULL, "%s", e.message);
}

static void say_one(struct mcp_call *call, const char *id, struct mcp_said *said)
{
    struct past_record record;
    struct err e = {0};
    struct buf json, text;
    const struct format_style plain = {0};
    if (mcp_record_open(call->m, id, &record, &e) < 0) {
        mcp_said_error(said, "id", "%s", e.message);
        return;
    }
    struct mcp_showing showing = mcp_showing_of(record.place.setting.decider.policy);
    buf_init(&json, &allocator_libc, RUN_MAX);
    buf_init(&text, &allocator_libc, RUN_MAX);
    buf_append_text(&said->structured, "{\"status\":\"ok\",\"run\":");
    int r = format_run_json(&record.run, &json);
    if (r == 0)
        r = mcp_show_json_text(&showing, json.data, json.len, &said->structured);
    buf_append_byte(&said->structured, '}');
    if (r == 0)
        r = format_run_text(&record.run, &plain, &text);
    mcp_show_text(&showing, text.data, text.len, &said->text);
    if (r < 0)
        mcp_said_error(said, "id", "it cannot be shown: %s", strerror(-r));
    buf_release(&json);
    buf_release(&text);
    past_record_close(&record);
}

void mcp_history(struct mcp_call *call, struct mcp_said *said)
{
    const char *id = mcp_text(call, "id", NULL);
    struct past_place place;
    struct history *h = NULL;
    struct err e = {0};
    if (id) {
        say_one(call, id, said);
        return;
    }
    if (mcp_place_open(call->m, &place, &e) < 0) {
        mcp_said_error(said, NULL, "%s", e.message);
        return;
    }
    int r = past_history_open(&place, &h, &e);
    if (r < 0 && r != -ENOENT)
        mcp_said_error(said, NULL, "%s", e.message);
    else
        say_list(call, &place, h, said);
    history_close(h);
    past_place_close(&place);
}

/* --- diff --------------------------------------------------------------------------------------
 */

void mcp_diff(struct mcp_call *call, struct mcp_said *said)
{
    struct past_record record;
    struct transaction t = TRANSACTION_NONE;
    struct err e = {0};
    struct buf patch, shown, changes;
    struct json j;
    bool more = false;
    if (mcp_record_open(call->m, mcp_text(call, "id", NULL), &record, &e) < 0) {
        mcp_said_error(said, "id", "%s", e.message);
        return;
    }
    struct mcp_showing showing = mcp_showing_of(record.place.setting.decider.policy);
    buf_init(&patch, &allocator_libc, MCP_SHOWN_MAX);
    buf_init(&shown, &allocator_libc, MCP_SHOWN_MAX);
    buf_init(&changes, &allocator_libc, MCP_SHOWN_MAX);
    int r = transaction_open(&record.place.arena, record.place.setting.state_dir,
                             record.run.main->entry.id, &t, &e);
    if (r == 0)
        r = past_patch(&t, 4 * showing.limit + 4096, &patch, &more, &e);
    if (r == 0) {
        more |= mcp_show_text(&showing, patch.data, patch.len, &shown);
        buf_append_format(&said->text, "run %s, %s\n", t.journal.id,
                          journal_state_names[t.journal.state]);
        buf_append(&said->text, shown.data, shown.len);
        if (more)
            buf_append_format(&said->text, "\n[there is more: resource nacre://run/%s/diff]\n",
                              t.journal.id);
        json_init_buf(&j, &changes);
        changes_write_json(&t.journal.set, &j);
        json_init_buf(&j, &said->structured);
        json_object_begin(&j);
        json_key(&j, "status");
        json_text(&j, "ok");
        json_key(&j, "correlation_id");
        json_text(&j, t.journal.id);
        json_key(&j, "state");
        json_text(&j, journal_state_names[t.journal.state]);
        json_key(&j, "diff");
        json_bytes(&j, shown.data, shown.len);
        json_key(&j, "truncated");
        json_bool(&j, more);
        json_key(&j, "changes");
        j.after_key = false; /* JSON already */
        if (mcp_show_json_text(&showing, changes.data, changes.len, &said->structured) < 0)
            buf_append_text(&said->structured, "{}");
        json_object_end(&j);
    } else {
        mcp_said_error(said, "id", "%s", e.message);
    }
    transaction_close(&t);
    buf_release(&patch);
    buf_release(&shown);
    buf_release(&changes);
    past_record_close(&record);
}
