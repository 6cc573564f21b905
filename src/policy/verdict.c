/* A verdict as JSON. */
#include "policy/verdict.h"

static void write_span(struct json *j, struct shell_span span)
{
    json_key(j, "span");
    json_array_begin(j);
    json_unsigned(j, span.from);
    json_unsigned(j, span.to);
    json_array_end(j);
}

static void write_word(struct json *j, const struct fact_word *word)
{
    if (word->state == WORD_UNKNOWN)
        json_nothing(j);
    else
        json_bytes(j, word->text, word->len);
}

/* The commands through which it is reached, the outermost first. */
static void write_via(struct json *j, const struct act *via)
{
    enum { SHOWN_MAX = 64 };
    const struct act *chain[SHOWN_MAX];
    size_t count = 0;
    for (; via && count < SHOWN_MAX; via = via->via)
        chain[count++] = via;
    while (count-- > 0)
        json_text(j, chain[count]->name ? chain[count]->name : "");
}

/* A file that it uses; null where nothing is known of it, what is known to hold it otherwise. */
static void write_path(struct json *j, const struct fact_path *path)
{
    static const char *const modes[] = {"read", "write", "delete", "enter", "run"};
    json_object_begin(j);
    json_key(j, "path");
    json_text(j, path->text);
    json_key(j, "known");
    json_bool(j, path->state == WORD_KNOWN);
    json_key(j, "modes");
    json_array_begin(j);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (path->mode & (1u << i))
            json_text(j, modes[i]);
    }
    json_array_end(j);
    json_object_end(j);
}

static void write_act(struct json *j, const struct act *act)
{
    json_object_begin(j);
    json_key(j, "argv");
    json_array_begin(j);
    for (size_t i = 0; i < act->word_count; i++)
        write_word(j, &act->words[i]);
    json_array_end(j);
    json_key(j, "via");
    json_array_begin(j);
    write_via(j, act->via);
    json_array_end(j);
    json_key(j, "effects");
    json_array_begin(j);
    for (size_t i = 0; effect_names[i]; i++) {
        if (act->effects & (1u << i))
            json_text(j, effect_names[i]);
    }
    json_array_end(j);
    json_key(j, "paths");
    json_array_begin(j);
    for (const struct fact_path *path = act->paths; path; path = path->next) {
        if (!path->loose)
            write_path(j, path);
    }
    json_array_end(j);
    write_span(j, act->span);
    json_object_end(j);
}

void verdict_write_json(const struct verdict *verdict, struct json *j)
{
    json_object_begin(j);
    json_key(j, "decision");
    json_text(j, decision_names[verdict->decision]);
    json_key(j, "rule");
    json_text(j, verdict->rule);
    json_key(j, "reasons");
    json_array_begin(j);
    for (const struct verdict_reason *r = verdict->reasons; r; r = r->next) {
        json_object_begin(j);
        json_key(j, "rule");
        json_text(j, r->rule);
        json_key(j, "reason");
        json_text(j, r->reason);
        json_key(j, "decision");
        json_text(j, decision_names[r->decision]);
        write_span(j, r->span);
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "acts");
    json_array_begin(j);
    for (const struct act *act = verdict->facts ? verdict->facts->acts : NULL; act; act = act->next)
        write_act(j, act);
    json_array_end(j);
    json_key(j, "mandate_hash");
    json_text(j, verdict->mandate_hash);
    json_object_end(j);
}
