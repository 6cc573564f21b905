/*
 * Questions through the client. What it shows its person is written here, whole and escaped; what
 * cannot be shown whole is not asked here, and waits for `nacre approve`. Whatever comes back but a
 * yes leaves the question open for a person elsewhere: many clients decline by themselves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/sha256.h"
#include "serve/mcp_internal.h"

enum { QUESTION_LINES = 40, QUESTION_CHARACTERS = 4000, BLANKS_MAX = 16, REASONS_MAX = 10 };

struct mcp_question {
    struct mcp_question *next;
    char id[32]; /* as JSON */
    bool over;
    int answer;
};

/* --- what is shown -----------------------------------------------------------------------------
 */

/* Lines that begin in the same way, and no room to hide anything behind. */
static void append_command(struct buf *out, const char *text, size_t len)
{
    size_t blanks = 0;
    buf_append_text(out, "    ");
    for (size_t i = 0; i <= len; i++) {
        bool blank = i < len && text[i] == ' ';
        if (blank && ++blanks)
            continue;
        if (blanks > BLANKS_MAX)
            buf_append_format(out, "[%zu blanks]", blanks);
        for (; blanks && blanks <= BLANKS_MAX; blanks--)
            buf_append_byte(out, ' ');
        blanks = 0;
        if (i == len)
            break;
        if (text[i] == '\n')
            buf_append_text(out, "\n    ");
        else if (text[i] == '\t')
            buf_append_text(out, "\\t");
        else
            buf_append_byte(out, text[i]);
    }
}

/* What a person could miss in it. */
static void append_oddities(struct buf *out, const char *text, size_t len)
{
    struct oddities found = escape_oddities(text, len);
    for (size_t i = 0; i < len; i++)
        found.hidden += text[i] == '\t';
    if (found.hidden)
        buf_append_format(out,
                          "    (%zu of its characters cannot be seen, and are escapes above)\n",
                          found.hidden);
    if (found.foreign)
        buf_append_format(out,
                          "    (%zu of its characters are not ASCII, and may look like others)\n",
                          found.foreign);
}

/* A text of the call's, whole, or `fits` is false from here on. */
static void append_text(struct buf *out, const char *text, size_t len, bool *fits)
{
    const struct mcp_showing all = {.decides = true};
    struct buf safe;
    size_t lines = 1;
    buf_init(&safe, &allocator_libc, MCP_SHOWN_MAX);
    if (len <= QUESTION_CHARACTERS)
        mcp_show_text(&all, text, len, &safe);
    for (size_t i = 0; i < safe.len; i++)
        lines += safe.data[i] == '\n';
    *fits = *fits && len <= QUESTION_CHARACTERS && safe.len <= QUESTION_CHARACTERS &&
            lines <= QUESTION_LINES && !safe.failed;
    if (*fits)
        append_command(out, safe.data, safe.len);
    buf_append_byte(out, '\n');
    append_oddities(out, text, len);
    buf_append_byte(out, '\n');
    buf_release(&safe);
}

/* What a session has left runs with the text, and is not in the call: it cannot be shown. */
bool mcp_can_ask(const struct mcp_call *call)
{
    return call->elicits && !mcp_text(call, "session", NULL);
}

bool mcp_question_text(const struct mcp_call *call, const json_t *verdict, struct buf *out)
{
    const json_t *reasons = json_object_get(verdict, "reasons");
    const char *cwd = mcp_text(call, "cwd", NULL);
    size_t count = json_array_size(reasons), command_len, input_len;
    const char *language = mcp_text(call, "language", NULL);
    const json_t *args = json_object_get(call->arguments, "args");
    const char *command = mcp_text(call, language ? "script" : "command", &command_len);
    const char *input = mcp_text(call, "stdin", &input_len);
    bool fits = count <= REASONS_MAX;
    if (language) {
        buf_append_text(out, "An agent asks to run a script in ");
        mcp_show_line(language, strlen(language), MCP_REASON_MAX, out);
        buf_append_text(out, ":\n\n");
    } else {
        buf_append_text(out, "An agent asks to run this command:\n\n");
    }
    append_text(out, command, command_len, &fits);
    for (size_t i = 0; i < json_array_size(args); i++) {
        const json_t *word = json_array_get(args, i);
        buf_append_text(out, i ? "and:\n\n" : "with the argument:\n\n");
        append_text(out, json_string_value(word), json_string_length(word), &fits);
        fits = fits && i < QUESTION_LINES;
    }
    if (input) {
        buf_append_text(out, "with this standard input:\n\n");
        append_text(out, input, input_len, &fits);
    } else if (mcp_flag(call, "background")) {
        buf_append_text(out, "with standard input that the agent writes later\n");
    }
    if (cwd) {
        buf_append_text(out, "in the directory:\n\n");
        append_text(out, cwd, strlen(cwd), &fits);
    }
    for (size_t i = 0; i < count; i++) {
        const char *why = json_string_value(json_object_get(json_array_get(reasons, i), "reason"));
        buf_append_text(out, "because: ");
        mcp_show_line(why ? why : "", why ? strlen(why) : 0, MCP_REASON_MAX, out);
        buf_append_byte(out, '\n');
    }
    return fits && !out->failed;
}

static void put_question(struct json *j, const char *text)
{
    json_object_begin(j);
    json_key(j, "message");
    json_text(j, text);
    json_key(j, "requestedSchema");
    json_object_begin(j);
    json_key(j, "type");
    json_text(j, "object");
    json_key(j, "properties");
    json_object_begin(j);
    json_key(j, "approve");
    json_object_begin(j);
    json_key(j, "type");
    json_text(j, "boolean");
    json_key(j, "title");
    json_text(j, "Run this command, this once");
    json_object_end(j);
    json_object_end(j);
    json_key(j, "required");
    json_array_begin(j);
    json_text(j, "approve");
    json_array_end(j);
    json_object_end(j);
    json_object_end(j);
}

static bool says_yes(const json_t *answer)
{
    const char *action = json_string_value(json_object_get(answer, "action"));
    const json_t *content = json_object_get(answer, "content");
    return action && strcmp(action, "accept") == 0 &&
           json_is_true(json_object_get(content, "approve"));
}

/* --- legacy: a request to the client ------------------------------------------------------------
 */

static void send_question(struct mcp *m, const struct mcp_question *q, const char *text)
{
    struct buf line;
    struct json j;
    buf_init(&line, &allocator_libc, JSONRPC_REPLY_MAX);
    buf_append_format(&line,
                      "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\","
                      "\"params\":",
                      q->id);
    json_init_buf(&j, &line);
    put_question(&j, text);
    buf_append_byte(&line, '}');
    mcp_send_line(m, &line);
}

static void take_back_question(struct mcp *m, const struct mcp_question *q)
{
    struct buf line;
    buf_init(&line, &allocator_libc, JSONRPC_REPLY_MAX);
    buf_append_format(&line,
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                      "\"requestId\":%s,\"reason\":\"nobody answered in time\"}}",
                      q->id);
    mcp_send_line(m, &line);
}

static uint64_t answer_time(struct mcp *m)
{
    enum { OTHERWISE_MS = 60 * 1000 };
    struct past_place place;
    if (mcp_place_open(m, &place, NULL) < 0)
        return OTHERWISE_MS;
    uint64_t ms = place.setting.decider.policy->approvals.timeout_ms;
    past_place_close(&place);
    return ms ? ms : OTHERWISE_MS;
}

/* With the lock. */
static void await(struct mcp_call *call, const struct mcp_question *q, uint64_t ms)
{
    struct mcp *m = call->m;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ms / 1000) + 1;
    while (!q->over && !call->cancelled && !m->ends) {
        if (pthread_cond_timedwait(&m->changed, &m->lock, &until) == ETIMEDOUT)
            break;
    }
}

int mcp_ask(struct mcp_call *call, const char *text)
{
    struct mcp *m = call->m;
    struct mcp_question q = {.answer = MCP_NO_ANSWER};
    uint64_t ms = answer_time(m);
    pthread_mutex_lock(&m->lock);
    snprintf(q.id, sizeof(q.id), "\"nacre-%" PRIu64 "\"", ++m->asked);
    q.next = m->questions;
    m->questions = &q;
    if (call->run)
        call->run->asking = true;
    pthread_mutex_unlock(&m->lock);
    send_question(m, &q, text);
    pthread_mutex_lock(&m->lock);
    await(call, &q, ms);
    struct mcp_question **at = &m->questions;
    while (*at != &q)
        at = &(*at)->next;
    *at = q.next;
    if (call->run)
        call->run->asking = false;
    bool takes_back = !q.over && !m->ends;
    pthread_mutex_unlock(&m->lock);
    if (takes_back)
        take_back_question(m, &q);
    return q.answer;
}

void mcp_answered(struct mcp *m, const struct jsonrpc_message *message)
{
    pthread_mutex_lock(&m->lock);
    for (struct mcp_question *q = m->questions; q; q = q->next) {
        if (q->over || strcmp(q->id, message->id) != 0)
            continue;
        q->over = true;
        q->answer = says_yes(message->result) ? MCP_YES : MCP_NO_ANSWER;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
}

/* --- modern: a result that asks -----------------------------------------------------------------
 */

/* What the answer is bound to: the call, word for word, and the policy by which it is asked. */
static int hash_call(const struct mcp_call *call, const char *mandate,
                     unsigned char ret[SHA256_BYTES])
{
    struct sha256 state;
    char *arguments =
        json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    if (!arguments)
        return -ENOMEM;
    sha256_start(&state);
    sha256_add(&state, call->tool->name, strlen(call->tool->name) + 1);
    sha256_add(&state, mandate, strlen(mandate) + 1);
    sha256_add(&state, arguments, strlen(arguments));
    sha256_end(&state, ret);
    free(arguments);
    return 0;
}

static void reply_question(struct jsonrpc_reply *reply, const char *text, const char *state)
{
    struct json j;
    json_init_buf(&j, &reply->result);
    json_object_begin(&j);
    json_key(&j, "resultType");
    json_text(&j, "input_required");
    json_key(&j, "inputRequests");
    json_object_begin(&j);
    json_key(&j, "confirm");
    json_object_begin(&j);
    json_key(&j, "method");
    json_text(&j, "elicitation/create");
    json_key(&j, "params");
    put_question(&j, text);
    json_object_end(&j);
    json_object_end(&j);
    json_key(&j, "requestState");
    json_text(&j, state);
    mcp_result_end(&j, reply);
}

/* The first time it is a result that asks; `asking` keeps the call from being answered meanwhile.
 */
static void ask_first(struct mcp_call *call, const json_t *verdict,
                      const unsigned char hash[SHA256_BYTES])
{
    struct mcp *m = call->m;
    char state[MCP_STATE_TEXT + 1];
    struct buf text;
    uint64_t until = clock_monotonic_ms() + answer_time(m);
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    bool asks = mcp_question_text(call, verdict, &text);
    pthread_mutex_lock(&m->lock);
    asks = asks && !call->answered && mcp_state_new(&m->states, hash, until, state) == 0;
    call->run->asking = asks;
    pthread_mutex_unlock(&m->lock);
    if (asks)
        reply_question(call->reply, text.data, state);
    call->replied = asks;
    buf_release(&text);
}

static int read_answer(struct mcp_call *call, const json_t *state,
                       const unsigned char hash[SHA256_BYTES])
{
    struct mcp *m = call->m;
    const json_t *responses = json_object_get(call->params, "inputResponses");
    pthread_mutex_lock(&m->lock);
    bool good = json_is_string(state) &&
                mcp_state_use(&m->states, json_string_value(state), json_string_length(state), hash,
                              clock_monotonic_ms());
    pthread_mutex_unlock(&m->lock);
    if (!good) {
        jsonrpc_reply_fail(
            call->reply, JSONRPC_INVALID_PARAMS,
            "requestState is not good for this call: it is of another one, was used, is "
            "too old, or the policy has changed");
        call->replied = true;
    }
    return good && says_yes(json_object_get(responses, "confirm")) ? MCP_YES : MCP_NO_ANSWER;
}

int mcp_ask_by_result(struct mcp_call *call, const json_t *verdict)
{
    unsigned char hash[SHA256_BYTES];
    const char *mandate = json_string_value(json_object_get(verdict, "mandate_hash"));
    const json_t *state = json_object_get(call->params, "requestState");
    if (!mandate || hash_call(call, mandate, hash) < 0)
        return MCP_NO_ANSWER;
    if (state)
        return read_answer(call, state, hash);
    ask_first(call, verdict, hash);
    return MCP_NO_ANSWER;
}
