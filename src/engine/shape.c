/*
 * The last hand on a result: what the policy's `messages` and `output` fix for whoever reads it.
 * What was recorded stays as it was: the ledger has what the command printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "policy/messages.h"

enum { MESSAGE_MAX = 1 << 20 };

static bool is_combined(const struct policy *policy)
{
    return strcmp(policy->output.mode, "combined") == 0;
}

bool shape_changes_output(const struct policy *policy)
{
    const struct policy_messages *m = &policy->messages;
    return policy->output.cut || policy->output.trim || m->completed || m->no_output ||
           m->timed_out;
}

/* Where what nacre says stands: with what went wrong, if there is such a stream. */
static struct captured *stream_for(nacre_result *r, const struct policy *policy)
{
    return &r->captured[is_combined(policy) ? RUN_STDOUT : RUN_STDERR];
}

/* A text of ours in the place of a stream's; what cannot be had leaves it as it is. */
static void put(nacre_result *r, struct captured *stream, const char *text,
                const struct message_value *values)
{
    struct buf out;
    buf_init(&out, &r->engine->allocator, MESSAGE_MAX);
    const char *copy =
        message_append(text, values, &out) == 0 ? arena_copy(&r->arena, out.data, out.len) : NULL;
    if (copy) {
        stream->text = copy;
        stream->len = out.len;
    }
    buf_release(&out);
}

static struct message_value text_value(const char *name, const char *text)
{
    return (struct message_value){name, text ? text : "", text ? strlen(text) : 0};
}

/* --- refusals -------------------------------------------------------------------------------- */

static bool is_unlisted(const char *rule)
{
    return strcmp(rule, "unknown") == 0 || strcmp(rule, "mandate") == 0;
}

/* The strictest reason that is about a list. */
static const struct verdict_reason *unlisted_reason(const nacre_result *r)
{
    for (const struct verdict_reason *v = r->judged ? r->verdict.reasons : NULL; v; v = v->next) {
        if (v->decision == DECISION_DENY && is_unlisted(v->rule))
            return v;
    }
    return NULL;
}

/* Whether everything that denies is about a list: else another text fits better. */
static bool is_only_unlisted(const nacre_result *r)
{
    for (const struct verdict_reason *v = r->judged ? r->verdict.reasons : NULL; v; v = v->next) {
        if (v->decision == DECISION_DENY && !is_unlisted(v->rule))
            return false;
    }
    return unlisted_reason(r) != NULL;
}

/* The name of the command that a reason is about. */
static const char *refused_name(const nacre_result *r, const struct verdict_reason *reason)
{
    const struct facts *facts = r->judged ? r->verdict.facts : NULL;
    for (const struct act *act = facts && reason ? facts->acts : NULL; act; act = act->next) {
        if (act->span.from == reason->span.from && act->span.to == reason->span.to && act->name)
            return act->word_count && act->words[0].state == WORD_KNOWN ? act->words[0].text
                                                                        : act->name;
    }
    return "";
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What may be run, in the order of the alphabet. */
static void append_allowed(nacre_result *r, const struct policy *policy, struct buf *out)
{
    const struct policy_patterns *list =
        policy->call_mandate ? &policy->call_allow : &policy->allow;
    const char **texts = arena_alloc_array(&r->arena, list->count + 1, sizeof(*texts));
    size_t count = 0;
    if (!texts)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].lifted)
            texts[count++] = list->items[i].text;
    }
    if (count)
        qsort(texts, count, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
            buf_append_format(out, "%s%s", i ? ", " : "", texts[i]);
    }
}

static void put_refusal(nacre_result *r, const struct policy *policy, const char *text)
{
    const struct verdict_reason *reason = unlisted_reason(r);
    struct buf allowed;
    buf_init(&allowed, &r->engine->allocator, MESSAGE_MAX);
    append_allowed(r, policy, &allowed);
    const struct message_value values[] = {
        {"allowed", allowed.data, allowed.len},
        {"command", r->text, r->text_len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : r->text_len},
        text_value("name", refused_name(r, reason ? reason : r->verdict.reasons)),
        text_value("reason", r->error.message),
        text_value("rule", r->rule),
        {0},
    };
    put(r, stream_for(r, policy), text, values);
    buf_release(&allowed);
}

static void put_too_long(nacre_result *r, const struct policy *policy, size_t characters)
{
    char length[32], maximum[32];
    snprintf(length, sizeof(length), "%zu", characters);
    snprintf(maximum, sizeof(maximum), "%llu", (unsigned long long)policy->max_command_length);
    const struct message_value values[] = {
        text_value("length", length), text_value("maximum", maximum), {0}};
    put(r, stream_for(r, policy), policy->messages.too_long, values);
}

static bool has_metacharacters(const nacre_result *r)
{
    size_t len = r->text_len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : r->text_len;
    for (size_t i = 0; i < len; i++) {
        if (r->text[i] && strchr(";&|><$`\\!", r->text[i]))
            return true;
    }
    return false;
}

/*
 * What stands first is what a reader would look at first: how long it is, which characters it has,
 * which commands. A text that cannot even be read has its length and its characters all the same.
 */
static void shape_refusal(nacre_result *r, const struct policy *policy)
{
    const struct policy_messages *m = &policy->messages;
    size_t characters =
        message_characters(r->text, r->text_len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : r->text_len);
    bool denied = r->status == NACRE_STATUS_DENIED;
    r->exit_code = (int)m->denied_exit_code;
    if (denied && m->too_long && policy->max_command_length &&
        characters > policy->max_command_length)
        put_too_long(r, policy, characters);
    else if (denied && m->denied_plain && policy->plain && has_metacharacters(r))
        put_refusal(r, policy, m->denied_plain);
    else if (denied && m->denied_unlisted && is_only_unlisted(r))
        put_refusal(r, policy, m->denied_unlisted);
    else if (m->denied)
        put_refusal(r, policy, m->denied);
}

/* --- output ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(struct captured *stream)
{
    while (stream->len && is_blank(stream->text[stream->len - 1]))
        stream->len--;
    while (stream->len && is_blank(stream->text[0])) {
        stream->text++;
        stream->len--;
    }
}

static size_t count_characters(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Where the character number `index` begins. */
static size_t find_character(const char *text, size_t len, size_t index)
{
    size_t at = 0;
    for (; at < len; at++) {
        if (((unsigned char)text[at] & 0xC0) != 0x80 && index-- == 0)
            break;
    }
    return at;
}

/* The end of a head: a line's, if that leaves more than half of it. */
static size_t head_end(const char *text, size_t len)
{
    const char *newline = len ? memrchr(text, '\n', len) : NULL;
    size_t lines = newline ? (size_t)(newline - text) : 0;
    return count_characters(text, lines) > count_characters(text, len) / 2 ? lines : len;
}

static void cut(nacre_result *r, const struct policy *policy, enum run_stream number)
{
    static const char *const names[] = {"stdout", "stderr"};
    struct captured *stream = &r->captured[number];
    const size_t limit = policy->output.limit;
    const char *keep = policy->output.keep, *mark = policy->messages.truncated;
    size_t count = count_characters(stream->text, stream->len);
    char between[64];
    if (!limit || count <= limit)
        return;
    bool both = strcmp(keep, "both") == 0;
    size_t head = strcmp(keep, "tail") == 0 ? 0 : both ? limit / 2 : limit, tail = limit - head;
    size_t to = find_character(stream->text, stream->len, head);
    size_t from = find_character(stream->text, stream->len, count - tail);
    if (head && !both)
        to = head_end(stream->text, to);
    snprintf(between, sizeof(between), "\n[%zu characters omitted]\n", count - limit);
    struct buf out;
    buf_init(&out, &r->engine->allocator, stream->len + MESSAGE_MAX);
    buf_append(&out, stream->text, to);
    if (mark || both)
        buf_append_text(&out, mark ? mark : between);
    buf_append(&out, stream->text + from, tail ? stream->len - from : 0);
    const char *copy = out.failed ? NULL : arena_copy(&r->arena, out.data, out.len);
    size_t kept_behind = tail ? stream->len - from : 0;
    if (copy) {
        uint64_t total = r->captures[number].total;
        *stream =
            (struct captured){.text = copy,
                              .len = out.len,
                              .truncated = true,
                              .omitted_from = to,
                              .omitted_to = total > kept_behind ? total - kept_behind : total};
        result_warn(r, "%s was cut to %zu characters", names[number], limit);
    }
    buf_release(&out);
}

/* Behind what was printed, on a line of its own. */
static void put_timeout(nacre_result *r, const struct policy *policy)
{
    char seconds[32];
    struct captured *stream = stream_for(r, policy);
    struct captured said = {.text = ""};
    snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)(r->limit.value / 1000));
    const struct message_value values[] = {text_value("seconds", seconds), {0}};
    put(r, &said, policy->messages.timed_out, values);
    bool line = stream->len && stream->text[stream->len - 1] != '\n';
    char *whole = arena_alloc(&r->arena, stream->len + said.len + 2);
    if (!whole)
        return;
    memcpy(whole, stream->text, stream->len);
    whole[stream->len] = '\n';
    memcpy(whole + stream->len + line, said.text, said.len);
    stream->text = whole;
    stream->len += said.len + line;
    whole[stream->len] = '\0';
}

static void shape_output(nacre_result *r, const struct policy *policy)
{
    const struct policy_messages *m = &policy->messages;
    static const struct message_value none[] = {{0}};
    if (r->answer && m->completed) {
        const struct message_value values[] = {text_value("answer", r->answer), {0}};
        r->captured[RUN_STDERR].len = 0;
        put(r, &r->captured[RUN_STDOUT], m->completed, values);
        r->captured[RUN_STDERR].text = "";
        return;
    }
    for (int i = 0; policy->output.trim && i < RUN_STREAMS; i++)
        trim(&r->captured[i]);
    for (int i = 0; policy->output.cut && i < RUN_STREAMS; i++)
        cut(r, policy, (enum run_stream)i);
    if (m->timed_out && r->limit.name && strcmp(r->limit.name, "timeout") == 0)
        put_timeout(r, policy);
    if (m->no_output && !r->captured[RUN_STDOUT].len && !r->captured[RUN_STDERR].len)
        put(r, &r->captured[RUN_STDOUT], m->no_output, none);
    /* Shortened in place: what has an end of its own is easier to read. */
    for (int i = 0; i < RUN_STREAMS; i++) {
        struct captured *s = &r->captured[i];
        const char *copy = s->text[s->len] ? arena_copy(&r->arena, s->text, s->len) : s->text;
        s->text = copy ? copy : "";
        s->len = copy ? s->len : 0;
    }
}

void shape_result(nacre_result *r, const nacre_run_options *o)
{
    const struct policy *policy = r->cached ? r->cached->policy : NULL;
    if (!policy)
        return;
    bool refused = r->status == NACRE_STATUS_DENIED || r->status == NACRE_STATUS_NEEDS_CONFIRMATION;
    if (refused && !r->ran)
        shape_refusal(r, policy);
    /* What was drawn on a terminal is nobody's to edit. */
    if (!r->ran || o->terminal || !shape_changes_output(policy))
        return;
    shape_output(r, policy);
    for (int i = 0; o->on_output && !o->all_output && i < RUN_STREAMS; i++) {
        const struct captured *s = &r->captured[i];
        if (s->len &&
            o->on_output(o->user, i == RUN_STDERR ? NACRE_STDERR : NACRE_STDOUT, s->text, s->len))
            break;
    }
}
