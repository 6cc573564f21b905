/*
 * Requests and results as bytes; see daemon.h. Both ends are of one version, or do not speak with
 * each other, so numbers are in the machine's own order. Every length is checked all the same.
 */
#include <errno.h>
#include <string.h>

#include "engine/version.h"
#include "serve/daemon.h"

#define FORMAT "nacre daemon " NACRE_VERSION " 2"

/* A text that is not there, and the end of a list. */
#define ABSENT UINT64_MAX

enum { LIST_MAX = 1 << 16 };

/* --- writing ------------------------------------------------------------------------------------
 */

static void put_number(struct buf *out, uint64_t value)
{
    buf_append(out, &value, sizeof(value));
}

static void put_bytes(struct buf *out, const char *bytes, size_t len)
{
    put_number(out, len);
    buf_append(out, bytes, len);
    buf_append(out, "", 1);
}

static void put_text(struct buf *out, const char *text)
{
    if (text)
        put_bytes(out, text, strlen(text));
    else
        put_number(out, ABSENT);
}

static void put_list(struct buf *out, const char *const *list)
{
    put_number(out, list != NULL);
    for (; list && *list; list++)
        put_text(out, *list);
    put_number(out, ABSENT);
}

/* --- reading ------------------------------------------------------------------------------------
 */

struct input {
    struct arena *arena;
    const char *at;
    size_t left;
    bool bad;
};

static uint64_t get_number(struct input *in)
{
    uint64_t value = 0;
    if (in->left < sizeof(value)) {
        in->bad = true;
        return 0;
    }
    memcpy(&value, in->at, sizeof(value));
    in->at += sizeof(value);
    in->left -= sizeof(value);
    return value;
}

/* With its NUL, in the arena. */
static const char *get_bytes(struct input *in, size_t *ret_len)
{
    uint64_t len = get_number(in);
    if (ret_len)
        *ret_len = 0;
    if (in->bad || len == ABSENT)
        return NULL;
    if (len >= in->left || in->at[len] != '\0') {
        in->bad = true;
        return NULL;
    }
    const char *copy = arena_copy(in->arena, in->at, (size_t)len);
    in->at += len + 1;
    in->left -= (size_t)len + 1;
    in->bad = !copy;
    if (ret_len)
        *ret_len = (size_t)len;
    return copy;
}

static const char *get_text(struct input *in)
{
    size_t len;
    const char *text = get_bytes(in, &len);
    if (text && strlen(text) != len)
        in->bad = true;
    return text;
}

static const char *const *get_list(struct input *in)
{
    bool there = get_number(in);
    size_t count = 0, room = 64;
    const char **list = arena_alloc_array(in->arena, room, sizeof(*list));
    for (const char *text; list && (text = get_text(in));) {
        if (count + 2 > room) {
            const char **wider = arena_alloc_array(in->arena, room *= 2, sizeof(*wider));
            if (wider)
                memcpy(wider, list, count * sizeof(*list));
            list = wider;
        }
        if (list)
            list[count++] = text;
        if (count == LIST_MAX)
            in->bad = true;
        if (in->bad)
            break;
    }
    in->bad = in->bad || !list;
    if (list)
        list[count] = NULL;
    return there ? list : NULL;
}

static bool is_ours(struct input *in)
{
    const char *format = get_text(in);
    return format && strcmp(format, FORMAT) == 0;
}

/* --- requests ------------------------------------------------------------------------------------
 */

int daemon_encode_request(const char *text, size_t len, const nacre_run_options *o, struct buf *out)
{
    put_text(out, FORMAT);
    put_bytes(out, text, len);
    const char *const texts[] = {o->workspace,  o->cwd,     o->profile,   o->agent,    o->config,
                                 o->config_dir, o->network, o->state_dir, o->language, o->job};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(out, texts[i]);
    put_list(out, o->environment);
    put_list(out, o->allow);
    put_list(out, o->read_paths);
    put_list(out, o->write_paths);
    put_list(out, o->limits);
    put_list(out, o->script_args);
    const uint64_t numbers[] = {
        o->timeout_ms,
        o->output_limit,
        (uint64_t)o->keep,
        (uint64_t)o->stage,
        (uint64_t)o->without_hash,
        (uint64_t)o->deterministic,
        (uint64_t)o->workspace_only,
        (uint64_t)o->trace,
        (uint64_t)o->umask,
        o->on_output != NULL,
        o->on_confirm != NULL,
        (uint64_t)o->unjudged,
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_number(out, numbers[i]);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit = {.rlim_max = RLIM_INFINITY};
        getrlimit((__rlimit_resource_t)i, &limit);
        put_number(out, limit.rlim_max);
    }
    return out->failed;
}

/* Only that somebody is there to be called: who that is, the daemon knows. */
static int no_output(void *user, nacre_stream stream, const char *bytes, size_t len)
{
    (void)user, (void)stream, (void)bytes, (void)len;
    return 0;
}

static int no_answer(void *user, const char *json, size_t len)
{
    (void)user, (void)json, (void)len;
    return 0;
}

int daemon_decode_request(struct arena *arena, const char *bytes, size_t len,
                          struct daemon_request *ret)
{
    struct input in = {.arena = arena, .at = bytes, .left = len};
    struct daemon_request request = {.options = NACRE_RUN_OPTIONS_INIT};
    nacre_run_options *o = &request.options;
    if (!is_ours(&in))
        return -EPROTO;
    request.text = get_bytes(&in, &request.len);
    const char **const texts[] = {&o->workspace, &o->cwd,        &o->profile, &o->agent,
                                  &o->config,    &o->config_dir, &o->network, &o->state_dir,
                                  &o->language,  &o->job};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = get_text(&in);
    o->environment = get_list(&in);
    o->allow = get_list(&in);
    o->read_paths = get_list(&in);
    o->write_paths = get_list(&in);
    o->limits = get_list(&in);
    o->script_args = get_list(&in);
    o->timeout_ms = get_number(&in);
    o->output_limit = get_number(&in);
    uint64_t keep = get_number(&in);
    o->stage = get_number(&in) != 0;
    o->without_hash = get_number(&in) != 0;
    o->deterministic = get_number(&in) != 0;
    o->workspace_only = get_number(&in) != 0;
    o->trace = get_number(&in) != 0;
    o->umask = (int)(get_number(&in) & 0777);
    o->on_output = get_number(&in) ? no_output : NULL;
    o->on_confirm = get_number(&in) ? no_answer : NULL;
    o->unjudged = get_number(&in) != 0;
    for (int i = 0; i < RLIM_NLIMITS; i++)
        request.limits[i] = get_number(&in);
    if (in.bad || in.left || !request.text || keep > NACRE_KEEP_BOTH)
        return -EBADMSG;
    o->keep = (nacre_keep)keep;
    *ret = request;
    return 0;
}

/* --- results -------------------------------------------------------------------------------------
 */

static int append_json(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

int daemon_encode_result(const nacre_result *r, struct buf *out)
{
    struct buf json;
    put_text(out, FORMAT);
    const uint64_t numbers[] = {r->status,       (uint64_t)r->exit_code,
                                r->ran,          (uint64_t)-r->error.code,
                                r->phases.count, r->warning_count};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_number(out, numbers[i]);
    put_text(out, r->error.message);
    for (size_t i = 0; i < r->warning_count; i++)
        put_text(out, r->warnings[i]);
    for (size_t i = 0; i < r->phases.count; i++) {
        put_number(out, r->phases.spans[i].phase);
        put_number(out, r->phases.spans[i].from_ns);
        put_number(out, r->phases.spans[i].to_ns);
    }
    for (int i = 0; i < RUN_STREAMS; i++) {
        put_number(out, r->captured[i].truncated);
        put_bytes(out, r->captured[i].text, r->captured[i].len);
    }
    buf_init(&json, &r->engine->allocator, DAEMON_BYTES_MAX);
    int failure = nacre_result_write_json(r, append_json, &json);
    if (failure == 0)
        put_bytes(out, json.data, json.len);
    buf_release(&json);
    return failure < 0 ? failure : out->failed;
}

int daemon_decode_result(const char *bytes, size_t len, nacre_result *ret)
{
    struct input in = {.arena = &ret->arena, .at = bytes, .left = len};
    if (!is_ours(&in))
        return -EPROTO;
    uint64_t status = get_number(&in);
    ret->exit_code = (int)(get_number(&in) & 0xff);
    ret->ran = get_number(&in) != 0;
    ret->error.code = -(int)(get_number(&in) & 0xffff);
    uint64_t phases = get_number(&in), warnings = get_number(&in);
    const char *message = get_text(&in);
    if (in.bad || !message || status > NACRE_STATUS_OK || phases > PHASES_MAX ||
        warnings > WARNINGS_MAX || strlen(message) >= sizeof(ret->error.message))
        return -EBADMSG;
    ret->status = (nacre_status)status;
    memcpy(ret->error.message, message, strlen(message) + 1);
    for (; ret->warning_count < warnings && !in.bad; ret->warning_count++)
        ret->warnings[ret->warning_count] = get_text(&in);
    for (; ret->phases.count < phases && !in.bad; ret->phases.count++) {
        uint64_t phase = get_number(&in);
        in.bad = in.bad || phase >= PHASES;
        ret->phases.spans[ret->phases.count].phase = (enum phase)(in.bad ? 0 : phase);
        ret->phases.spans[ret->phases.count].from_ns = get_number(&in);
        ret->phases.spans[ret->phases.count].to_ns = get_number(&in);
    }
    for (int i = 0; i < RUN_STREAMS; i++) {
        ret->captured[i].truncated = get_number(&in) != 0;
        ret->captured[i].text = get_bytes(&in, &ret->captured[i].len);
        in.bad = in.bad || !ret->captured[i].text;
    }
    ret->told_json = get_bytes(&in, &ret->told_json_len);
    return in.bad || in.left || !ret->told_json ? -EBADMSG : 0;
}
