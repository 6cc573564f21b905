/* What the shell can do here, in words for a model; see prompt.h. */
#include "serve/prompt.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/yaml.h"
#include "policy/messages.h"
#include "serve/mcp_internal.h"

enum { VALUE_MAX = 1 << 16, LISTED_MAX = 200 };

/* A name on one line, whatever is in it. */
static void append_name(const char *name, struct buf *out)
{
    mcp_show_line(name, strlen(name), 4096, out);
}

/* --- sentences, each from the policy ---------------------------------------------------------- */

/* Paths that the box does not have of its own. */
static size_t append_paths(const struct policy_texts *list, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].origin.layer == LAYER_BUILTIN)
            continue;
        buf_append_text(out, count++ ? ", " : "");
        append_name(list->items[i].text, out);
    }
    return count;
}

static void append_writes(const struct policy *p, struct buf *out)
{
    struct buf paths;
    buf_init(&paths, &allocator_libc, VALUE_MAX);
    size_t count = append_paths(&p->write, &paths);
    if (p->workspace_read_only && !count)
        buf_append_text(out, "Files can be read, and nothing that is written stays; /tmp is "
                             "writable while a command runs.");
    else
        buf_append_format(out,
                          "What is written to %s%s%s stays; /tmp is private, and gone after each "
                          "command. Nothing else is writable.",
                          p->workspace_read_only ? "" : "the workspace",
                          count && !p->workspace_read_only ? " and " : "", paths.data);
    buf_release(&paths);
}

static void append_network(const struct policy *p, struct buf *out)
{
    buf_append_text(out, p->network == NETWORK_ON
                             ? "The network is the host's; what is sent cannot be taken back."
                             : "There is no network but a loopback of its own.");
}

static void append_gates(const struct policy *p, struct buf *out)
{
    const struct yaml_node *gate = p->gates ? p->gates->first : NULL;
    if (!gate) {
        buf_append_text(out, "No gates to the host are declared.");
        return;
    }
    buf_append_text(out, "Declared gates to the host, as commands:");
    for (; gate; gate = gate->next) {
        buf_append_byte(out, ' ');
        append_name(gate->key ? gate->key->text : "?", out);
    }
    buf_append_byte(out, '.');
}

static void append_list(const struct policy_patterns *list, struct buf *out)
{
    size_t said = 0, all = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].lifted)
            continue;
        if (all++ >= LISTED_MAX)
            continue;
        buf_append_text(out, said++ ? ", " : " ");
        append_name(list->items[i].text, out);
    }
    if (all > said)
        buf_append_format(out, " and %zu more", all - said);
    buf_append_text(out, all ? ".\n" : " none.\n");
}

static void append_commands(const struct policy *p, struct buf *out)
{
    static const char *const unlisted[] = {
        [DECISION_DENY] = "is denied",
        [DECISION_CONFIRM] = "is asked about: a person has to say yes first",
        [DECISION_ALLOW] = "is allowed",
    };
    if (p->mandate) {
        buf_append_text(out, "Only these commands run:");
        append_list(&p->allow, out);
    } else {
        buf_append_format(out, "A command that no rule names %s (profile %s).\n",
                          unlisted[p->unknown], p->profile);
    }
    if (p->call_mandate) {
        buf_append_text(out, "Besides, nothing runs but:");
        append_list(&p->call_allow, out);
    }
    if (p->plain)
        buf_append_text(out, "Only plain commands: a text with any of ; & | > < $ ` \\ ! is "
                             "refused.\n");
    if (p->max_command_length)
        buf_append_format(out, "A command has %llu characters at the most.\n",
                          (unsigned long long)p->max_command_length);
}

static void append_limits(const struct policy *p, struct buf *out)
{
    char usual[UNITS_TEXT], most[UNITS_TEXT], cpu[UNITS_TEXT], memory[UNITS_TEXT], disk[UNITS_TEXT];
    units_format_duration(p->default_timeout_ms, usual);
    units_format_duration(p->limits.timeout_max_ms, most);
    units_format_duration(p->limits.cpu_ms, cpu);
    units_format_size(p->limits.memory_bytes, memory);
    units_format_size(p->limits.disk_bytes, disk);
    buf_append_format(out, "A command may take %s unless it says otherwise, and %s at the most.\n",
                      usual, most);
    buf_append_format(out,
                      "Limits: %s of CPU time, %s of memory, %llu process%s and %llu open files at "
                      "once, %s written.\n",
                      cpu, memory, (unsigned long long)p->limits.processes,
                      p->limits.processes == 1 ? "" : "es", (unsigned long long)p->limits.files,
                      disk);
}

static void append_output(const struct policy *p, struct buf *out)
{
    static const char *const kept[][2] = {{"head", "the beginning is"}, {"tail", "the end is"}};
    const char *keep = "beginning and end are";
    for (size_t i = 0; i < 2; i++)
        keep = strcmp(p->output.keep, kept[i][0]) == 0 ? kept[i][1] : keep;
    buf_append_format(out, "Of %s %llu characters are shown; of more, %s kept.\n",
                      strcmp(p->output.mode, "combined") == 0
                          ? "stdout and stderr, which are one stream,"
                          : "stdout and of stderr",
                      (unsigned long long)p->output.limit, keep);
    if (p->output.submit)
        buf_append_text(out, "A line `SUBMIT: answer` in the output ends the task with that "
                             "answer.\n");
}

/* --- the whole -------------------------------------------------------------------------------- */

static void append_own(const struct setting *s, const char *session, struct buf *out)
{
    const struct policy *p = s->decider.policy;
    buf_append_text(out, "The workspace is ");
    append_name(s->workspace.root, out);
    buf_append_format(out, "%s.\n", p->workspace_read_only ? ", which is read-only" : "");
    if (p->refused) {
        buf_append_text(out, "The profile is safe: no command runs here at all.\n");
        return;
    }
    if (session) {
        buf_append_text(out, "Commands run in the session ");
        append_name(session, out);
        buf_append_text(out, ": directory, variables and functions stay from one to the next.\n");
    } else {
        buf_append_text(out, "Each command is a fresh process of bash: directory and variables are "
                             "gone after it, unless a session is named.\n");
    }
    append_writes(p, out);
    buf_append_byte(out, '\n');
    append_network(p, out);
    buf_append_byte(out, '\n');
    append_commands(p, out);
    append_limits(p, out);
    append_output(p, out);
    append_gates(p, out);
    buf_append_byte(out, '\n');
}

static const char *format_number(char text[32], uint64_t number)
{
    snprintf(text, 32, "%llu", (unsigned long long)number);
    return text;
}

static void append_fixed(const struct setting *s, struct buf *out)
{
    const struct policy *p = s->decider.policy;
    char usual[32], most[32], length[32], limit[32];
    struct buf gates, network, workspace, writes;
    struct buf *const all[] = {&gates, &network, &workspace, &writes};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_init(all[i], &allocator_libc, VALUE_MAX);
    append_gates(p, &gates);
    append_network(p, &network);
    append_name(s->workspace.root, &workspace);
    append_writes(p, &writes);
    format_number(usual, p->default_timeout_ms / 1000);
    format_number(most, p->limits.timeout_max_ms / 1000);
    format_number(limit, p->output.limit);
    const char *maximum =
        p->max_command_length ? format_number(length, p->max_command_length) : "any number of";
    const struct message_value values[] = {
        {"default_timeout", usual, strlen(usual)},
        {"gates", gates.data, gates.len},
        {"max_command_length", maximum, strlen(maximum)},
        {"network", network.data, network.len},
        {"output_limit", limit, strlen(limit)},
        {"timeout_max", most, strlen(most)},
        {"workspace", workspace.data, workspace.len},
        {"writes", writes.data, writes.len},
        {0},
    };
    message_append(p->messages.prompt, values, out);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_release(all[i]);
}

void prompt_append(const struct setting *setting, const char *session, struct buf *out)
{
    const struct policy *p = setting->decider.policy;
    if (p->messages.prompt && !p->refused)
        append_fixed(setting, out);
    else
        append_own(setting, session, out);
}
