/* nacre escalations: questions that were asked, and what became of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/record.h"

enum { OUT_MAX = 64 << 20, ARENA_MAX = 1 << 30, TEXT_SHOWN = 60 };

struct escalation_options {
    bool json;
};

static const struct option escalation_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print a JSON array",
     .offset = offsetof(struct escalation_options, json)},
    {0},
};

struct word {
    const char *time, *word, *by, *detail;
};

/* What was said, and what became of it. */
struct settled {
    struct word answer;
    const char *outcome; /* pending, approved, denied, expired, withdrawn */
    const char *ended;   /* when; NULL: not yet */
};

/* One question, and the last word on it. Texts are in the arena. */
struct escalation {
    struct entry asked;
    uint64_t index;
    struct word judge;
    struct settled now, before; /* before the last answer, which may turn out to be void */
    size_t uses;
};

struct escalations {
    struct arena arena;
    struct escalation *items;
    size_t count, room;
};

static const char *keep(struct escalations *s, const char *text)
{
    return text ? arena_copy(&s->arena, text, strlen(text)) : NULL;
}

static struct escalation *find(struct escalations *s, const char *id)
{
    for (size_t i = s->count; id && i-- > 0;) {
        if (s->items[i].asked.id && strcmp(s->items[i].asked.id, id) == 0)
            return &s->items[i];
    }
    return NULL;
}

static int add(struct escalations *s, const struct history_entry *entry)
{
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        struct escalation *more = realloc(s->items, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        s->items = more;
        s->room = room;
    }
    struct entry copy;
    struct err ignored;
    /* Read once more into the arena that stays. */
    int r = entry_read(&s->arena, entry->record, entry->record_len, &copy, &ignored);
    if (r == 0)
        s->items[s->count++] = (struct escalation){.asked = copy,
                                                   .index = entry->index,
                                                   .now = {.outcome = "pending"},
                                                   .before = {.outcome = "pending"}};
    return r;
}

static void end(struct escalations *s, struct escalation *q, const char *outcome, const char *time)
{
    q->now.outcome = outcome;
    q->now.ended = keep(s, time);
}

static void take_answer(struct escalations *s, struct escalation *q, const struct entry *e)
{
    const char *word = e->status ? e->status : "";
    bool judge =
        strcmp(word, "accept") == 0 || strcmp(word, "reject") == 0 || strcmp(word, "escalate") == 0;
    /* It is written down before it is given, and came to a question that was settled. */
    if (strcmp(word, "void") == 0) {
        q->now = q->before;
        return;
    }
    q->before = q->now;
    if (judge) {
        q->judge.time = keep(s, e->time);
        q->judge.word = keep(s, word);
        q->judge.by = keep(s, e->confirmed_by);
        q->judge.detail = keep(s, e->detail);
    } else {
        q->now.answer.time = keep(s, e->time);
        q->now.answer.word = keep(s, word);
        q->now.answer.by = keep(s, e->confirmed_by);
        q->now.answer.detail = keep(s, e->detail);
    }
    if (strcmp(word, "yes") == 0 || strcmp(word, "accept") == 0)
        end(s, q, "approved", e->time);
    else if (strcmp(word, "no") == 0 || strcmp(word, "reject") == 0)
        end(s, q, "denied", e->time);
}

static int take(void *user, const struct history_entry *entry)
{
    struct escalations *s = user;
    const struct entry *e = &entry->entry;
    if (e->kind == ENTRY_QUESTION)
        return add(s, entry);
    struct escalation *q = find(s, e->id);
    if (!q)
        return 0; /* its question was dropped from the ledger */
    if (e->kind == ENTRY_ANSWER)
        take_answer(s, q, e);
    else if (e->kind == ENTRY_EXPIRED)
        end(s, q, e->status && strcmp(e->status, "withdrawn") == 0 ? "withdrawn" : "expired",
            e->time);
    else if (e->kind == ENTRY_USED)
        q->uses++;
    return 0;
}

static void field(struct json *j, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    json_key(j, key);
    json_text(j, text);
}

static void write_word(struct json *j, const char *key, const char *time, const char *word,
                       const char *by, const char *detail)
{
    if (!word)
        return;
    json_key(j, key);
    json_object_begin(j);
    field(j, "time", time);
    field(j, "word", word);
    field(j, "by", by);
    field(j, "detail", detail);
    json_object_end(j);
}

static void write_one(struct json *j, const struct escalation *q)
{
    const struct entry *e = &q->asked;
    json_object_begin(j);
    field(j, "id", e->id);
    field(j, "asked", e->time);
    json_key(j, "about");
    json_text(j, e->detail && e->detail[0] ? "changes" : "run");
    json_key(j, "command");
    json_bytes(j, e->command.bytes ? e->command.bytes : "", e->command.len);
    if (e->command.whole_len) {
        json_key(j, "command_bytes");
        json_unsigned(j, e->command.whole_len);
    }
    if (e->canonical.bytes) {
        json_key(j, "canonical");
        json_bytes(j, e->canonical.bytes, e->canonical.len);
    }
    field(j, "agent", e->agent);
    field(j, "profile", e->profile);
    field(j, "session", e->session);
    field(j, "workspace", e->workspace);
    field(j, "working_dir", e->working_dir);
    field(j, "mandate_hash", e->mandate_hash);
    field(j, "rule", e->rule);
    json_key(j, "reasons");
    json_array_begin(j);
    for (size_t i = 0; i < e->reason_count; i++) {
        json_object_begin(j);
        field(j, "rule", e->reasons[i].rule);
        field(j, "reason", e->reasons[i].reason);
        json_object_end(j);
    }
    json_array_end(j);
    write_word(j, "judge", q->judge.time, q->judge.word, q->judge.by, q->judge.detail);
    write_word(j, "answer", q->now.answer.time, q->now.answer.word, q->now.answer.by,
               q->now.answer.detail);
    json_key(j, "outcome");
    json_text(j, q->now.outcome);
    field(j, "ended", q->now.ended);
    json_key(j, "uses");
    json_unsigned(j, q->uses);
    json_key(j, "ledger_index");
    json_unsigned(j, q->index);
    json_object_end(j);
}

static void print_json(const struct escalations *s, bool lines)
{
    for (size_t i = 0; i < s->count; i++) {
        struct json j;
        if (lines && !s->items[i].now.ended)
            continue;
        if (!lines)
            cli_print(i ? "," : "[", 1);
        json_init(&j, cli_print_json, NULL);
        write_one(&j, &s->items[i]);
        if (lines)
            cli_print("\n", 1);
    }
    if (!lines)
        cli_print(s->count ? "]\n" : "[]\n", s->count ? 2 : 3);
}

static void print_text(const struct escalations *s)
{
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    for (size_t i = s->count; i-- > 0;) {
        const struct escalation *q = &s->items[i];
        const char *by = q->now.answer.by ? q->now.answer.by : q->judge.by;
        buf_append_format(&out, "%.8s  %.19s  %-9s  ", q->asked.id ? q->asked.id : "-",
                          q->asked.time ? q->asked.time : "-", q->now.outcome);
        cli_append_escaped(&out, by ? by : "-", TEXT_SHOWN);
        buf_append_text(&out, "  ");
        cli_append_escaped(&out, q->asked.command.bytes ? q->asked.command.bytes : "", TEXT_SHOWN);
        buf_append_byte(&out, '\n');
    }
    cli_print_buf(&out);
}

static int run_escalations(const void *options, const struct options_parsed *words)
{
    const struct escalation_options *wanted = options;
    struct history *h = NULL;
    struct err e = {0};
    bool lines = words->count == 1 && strcmp(words->operands[0], "export") == 0;
    if (words->count && !lines) {
        cli_complain("escalations: 'export', or nothing, not '%s'", words->operands[0]);
        return EXIT_WRONG_CALL;
    }
    int r = record_open("escalations", &h);
    if (r < 0 && r != -ENOENT)
        return EXIT_NO;
    struct escalations s = {0};
    arena_init(&s.arena, &allocator_libc, ARENA_MAX);
    r = h ? history_questions(h, take, &s, &e) : 0;
    if (r < 0)
        cli_complain("escalations: %s", e.message[0] ? e.message : strerror(-r));
    else if (lines || wanted->json)
        print_json(&s, lines);
    else
        print_text(&s);
    free(s.items);
    arena_release(&s.arena);
    history_close(h);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_escalations = {
    .name = "escalations",
    .summary = "list the questions that were asked, and their answers",
    .synopsis = "[export]",
    .description =
        "From the ledger, the newest first: id, time, what became of the question (pending, "
        "approved, denied, expired, withdrawn), who answered, and the text.\n"
        "\n"
        "`export` prints those that are settled, the oldest first, as one JSON object a line, for "
        "review and training; secrets are redacted as in all records.\n"
        "\n"
        "    nacre escalations\n"
        "    nacre escalations export > questions.jsonl",
    .options = escalation_options,
    .options_size = sizeof(struct escalation_options),
    .operand_choices = "export",
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_escalations,
};
