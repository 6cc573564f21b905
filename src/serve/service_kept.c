/* history, diff, undo, verify, fs_hash, reset: what was, and taking it back; see service.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "history/format.h"
#include "history/verified.h"
#include "history/when.h"
#include "serve/service_internal.h"

enum { LIST_DEFAULT = 20 };

/* --- history --------------------------------------------------------------------------------- */

struct listing {
    const struct service *service;
    const struct past_place *place;
    struct json *json;
    uint64_t limit, count, last;
};

static int list_row(void *user, const struct history_row *row)
{
    struct listing *l = user;
    if (!past_is_here(l->place, row->workspace) ||
        (l->service->in_memory && !service_is_own(l->service, row->id)))
        return 0;
    if (l->count == l->limit)
        return 1;
    l->count++;
    l->last = row->index;
    format_row_json(row, l->json);
    return l->json->failed;
}

static void list(struct service *s, const json_t *params, const struct past_place *place,
                 struct history *h, struct jsonrpc_reply *reply)
{
    const char *since = service_text(params, "since", NULL);
    struct history_filter filter = {
        .status = service_text(params, "status", NULL),
        .text = service_text(params, "text", NULL),
        .path = service_text(params, "path", NULL),
        .before = service_count(params, "before", 0),
        .workspace = place->setting.workspace.root,
    };
    struct json j;
    struct listing l = {.service = s,
                        .place = place,
                        .json = &j,
                        .limit = service_count(params, "limit", LIST_DEFAULT)};
    struct err e = {0};
    if (since && when_parse(since, clock_utc_ms(), &filter.since_ms) < 0) {
        service_wrong(reply, "since", "is no time such as 2h, 3d or 2026-01-31T12:00:00Z");
        return;
    }
    json_init_buf(&j, &reply->result);
    json_object_begin(&j);
    json_key(&j, "runs");
    json_array_begin(&j);
    int r = h ? history_list(h, &filter, list_row, &l, &e) : 0;
    json_array_end(&j);
    json_key(&j, "more");
    json_bool(&j, r > 0);
    if (r > 0) {
        json_key(&j, "next_before");
        json_unsigned(&j, l.last);
    }
    json_object_end(&j);
    if (r < 0)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
}

/* V4. */
static int open_record(struct service *s, const char *id, struct past_record *ret,
                       struct jsonrpc_reply *reply)
{
    struct err e = {0};
    int r = past_record_open(s->handle, &s->run, id, ret, &e);
    if (r == 0 && s->in_memory && !service_is_own(s, ret->run.main->entry.id)) {
        past_record_close(ret);
        r = err_set(&e, -ENOENT, "there is no run '%.40s' of this session", id);
    }
    if (r < 0)
        service_wrong(reply, "id", "%s", e.message);
    return r;
}

static void tell_one(struct service *s, const char *id, struct jsonrpc_reply *reply)
{
    struct past_record record;
    if (open_record(s, id, &record, reply) < 0)
        return;
    buf_append_text(&reply->result, "{\"run\":");
    if (format_run_json(&record.run, &reply->result) < 0)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "it cannot be told");
    buf_append_byte(&reply->result, '}');
    past_record_close(&record);
}

void service_history(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct past_place place;
    struct history *h = NULL;
    struct err e = {0};
    if (service_text(params, "id", NULL)) {
        tell_one(s, service_text(params, "id", NULL), reply);
        return;
    }
    if (past_place_open(s->handle, &s->run, &place, &e) < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return;
    }
    int r = past_history_open(&place, &h, &e);
    if (r < 0 && r != -ENOENT)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    else
        list(s, params, &place, h, reply);
    history_close(h);
    past_place_close(&place);
}

/* --- diff ------------------------------------------------------------------------------------ */

static bool is_kept(const struct service *s, const char *method, struct jsonrpc_reply *reply)
{
    if (s->in_memory)
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST,
                           "%s: of a workspace in memory nothing is kept besides; `reset` begins "
                           "an empty one, and with --workspace DIR each run can be undone",
                           method);
    return !s->in_memory;
}

void service_diff(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct past_record record;
    struct transaction t = TRANSACTION_NONE;
    struct err e = {0};
    struct buf patch;
    struct json j;
    bool more = false;
    if (!is_kept(s, "diff", reply) ||
        open_record(s, service_text(params, "id", NULL), &record, reply) < 0)
        return;
    buf_init(&patch, &allocator_libc, 2 * (size_t)SERVICE_DIFF_MAX);
    int r = transaction_open(&record.place.arena, record.place.setting.state_dir,
                             record.run.main->entry.id, &t, &e);
    if (r == 0)
        r = past_patch(&t, SERVICE_DIFF_MAX, &patch, &more, &e);
    if (r < 0) {
        service_wrong(reply, "id", "%s", e.message);
    } else {
        json_init_buf(&j, &reply->result);
        json_object_begin(&j);
        json_key(&j, "correlation_id");
        json_text(&j, t.journal.id);
        json_key(&j, "state");
        json_text(&j, journal_state_names[t.journal.state]);
        json_key(&j, "diff");
        json_bytes(&j, patch.data, patch.len);
        json_key(&j, "truncated");
        json_bool(&j, more);
        json_key(&j, "changes");
        changes_write_json(&t.journal.set, &j);
        json_object_end(&j);
    }
    transaction_close(&t);
    buf_release(&patch);
    past_record_close(&record);
}

/* --- undo, commit, discard ------------------------------------------------------------------- */

static void turn(struct service *s, const json_t *params, enum past_turn turn,
                 struct jsonrpc_reply *reply)
{
    struct past_turning t = {.handle = s->handle, .run = &s->run};
    struct err e = {0};
    struct json j;
    if (!is_kept(s, past_turn_names[turn], reply))
        return;
    past_turn(&t, service_text(params, "id", NULL), turn, service_flag(params, "with_later"), &e);
    if (e.code < 0 && !t.open) {
        service_wrong(reply, "id", "%s", e.message);
        return;
    }
    json_init_buf(&j, &reply->result);
    past_turning_write(&t, turn, &e, &j);
    if (json_finish(&j) < 0)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "what came of it cannot be told");
    past_turning_close(&t);
}

void service_undo(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    turn(s, params, PAST_UNDO, reply);
}

void service_commit(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    turn(s, params, PAST_COMMIT, reply);
}

void service_discard(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    turn(s, params, PAST_DISCARD, reply);
}

/* --- verify, fs_hash ------------------------------------------------------------------------- */

static int verify(const struct past_place *place, struct verified *v, struct err *e)
{
    const char *state = place->setting.state_dir;
    struct buf ledger;
    struct ledger_verify_options options = {0};
    if (!state)
        return err_set(e, -ENOENT, "there is no state directory");
    buf_init(&ledger, &allocator_libc, 1 << 16);
    int r = buf_append_format(&ledger, "%s/ledger", state);
    if (r == 0)
        r = ledger_verify(ledger.data, &options, &v->ledger, e);
    if (r == 0 && v->ledger.good)
        r = verified_objects(v, state, NULL, NULL, e);
    buf_release(&ledger);
    return r;
}

void service_verify(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct verified *v = calloc(1, sizeof(*v));
    struct past_place place;
    struct err e = {0};
    struct json j;
    (void)params;
    int r =
        v ? past_place_open(s->handle, &s->run, &place, &e) : err_set(&e, -ENOMEM, "out of memory");
    if (r == 0 && v) {
        r = verify(&place, v, &e);
        past_place_close(&place);
    }
    if (r == 0) {
        json_init_buf(&j, &reply->result);
        verified_write_json(v, &j);
    } else {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    }
    free(v);
}

static void put_hash(struct service *s, struct json *j, struct jsonrpc_reply *reply)
{
    char hex[SHA256_HEX + 1] = "";
    struct err e = {0};
    if (service_fs_hash(s, hex, &e) < 0)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    json_key(j, "fs_hash");
    json_text(j, hex);
}

void service_hash(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct json j;
    (void)params;
    json_init_buf(&j, &reply->result);
    json_object_begin(&j);
    put_hash(s, &j, reply);
    json_object_end(&j);
}

/* --- reset ----------------------------------------------------------------------------------- */

/* Whether what it did is there still. */
static bool is_real(struct service *s, const char *id)
{
    struct past_place place;
    struct transaction t = TRANSACTION_NONE;
    if (past_place_open(s->handle, &s->run, &place, NULL) < 0)
        return true; /* the undoing says why not */
    bool gone = transaction_open(&place.arena, place.setting.state_dir, id, &t, NULL) == 0 &&
                t.journal.state != JOURNAL_APPLIED && t.journal.state != JOURNAL_STRANDED;
    transaction_close(&t);
    past_place_close(&place);
    return !gone;
}

/* The newest first, so that none stands in another's way. */
static size_t undo_all(struct service *s, struct jsonrpc_reply *reply)
{
    size_t undone = 0;
    while (s->run_count && !reply->code) {
        const char *id = s->runs[s->run_count - 1];
        struct past_turning t = {.handle = s->handle, .run = &s->run};
        struct err e = {0};
        if (is_real(s, id)) {
            if (past_turn(&t, id, PAST_UNDO, false, &e) < 0)
                jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%zu run%s undone, and then: %s",
                                   undone, undone == 1 ? " is" : "s are", e.message);
            else
                undone++;
            past_turning_close(&t);
        }
        if (!reply->code)
            s->run_count--;
    }
    return undone;
}

void service_reset(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct err e = {0};
    struct json j;
    size_t undone = 0;
    (void)params;
    if (s->in_memory) {
        service_close(s);
        s->run_count = 0;
        if (service_open(s, &e) < 0)
            jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    } else if (s->runs_dropped) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST,
                           "this session has changed more than can be taken back at once: `undo` "
                           "takes single runs back");
    } else {
        undone = undo_all(s, reply);
    }
    if (reply->code)
        return;
    json_init_buf(&j, &reply->result);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, "ok");
    json_key(&j, "undone");
    json_unsigned(&j, undone);
    put_hash(s, &j, reply);
    json_object_end(&j);
}
