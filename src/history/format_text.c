/* One run in full, for people at a terminal; see format.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"
#include "history/format.h"
#include "history/frames.h"

#define INDENT "            "
#define RED    "\033[31m"
#define PLAIN  "\033[m"

struct page {
    struct buf *out;
    const struct format_style *style;
};

static void safe(const struct page *p, const char *bytes, size_t len, bool one_line)
{
    format_safe(p->out, bytes, len, one_line, p->style->ascii_only);
}

static void head(const struct page *p, const char *name)
{
    buf_append_format(p->out, "%-11s ", name);
}

static void line(const struct page *p, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    head(p, name);
    safe(p, text, strlen(text), true);
    buf_append_byte(p->out, '\n');
}

/* Several lines stand below each other. */
static void lines(const struct page *p, const char *name, const struct entry_text *text)
{
    if (!text->bytes)
        return;
    head(p, name);
    for (const char *at = text->bytes, *end = at + text->len;;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        safe(p, at, (size_t)((stop ? stop : end) - at), true);
        buf_append_byte(p->out, '\n');
        if (!stop || stop + 1 == end)
            break;
        buf_append_text(p->out, INDENT);
        at = stop + 1;
    }
    if (text->whole_len)
        buf_append_format(p->out, INDENT "(the first %zu of %" PRIu64 " bytes, SHA-256 %s)\n",
                          text->len, text->whole_len, text->whole_hash);
}

static void more(const struct page *p, size_t shown, uint64_t total)
{
    if (total > shown)
        buf_append_format(p->out, INDENT "(and %" PRIu64 " more)\n", total - shown);
}

static void show_verdict(const struct page *p, const struct entry *entry)
{
    if (!entry->verdict)
        return;
    head(p, "verdict");
    safe(p, entry->verdict, strlen(entry->verdict), true);
    if (entry->rule) {
        buf_append_text(p->out, " by ");
        safe(p, entry->rule, strlen(entry->rule), true);
    }
    buf_append_byte(p->out, '\n');
    for (size_t i = 0; i < entry->reason_count; i++) {
        buf_append_text(p->out, INDENT);
        safe(p, entry->reasons[i].rule, strlen(entry->reasons[i].rule), true);
        buf_append_text(p->out, ": ");
        safe(p, entry->reasons[i].reason, strlen(entry->reasons[i].reason), true);
        buf_append_byte(p->out, '\n');
    }
    more(p, entry->reason_count, entry->reason_total);
    line(p, "approved by", entry->confirmed_by);
    line(p, "mandate", entry->mandate_hash);
}

static void show_resources(const struct page *p, const struct entry *entry)
{
    char cpu[UNITS_TEXT], memory[UNITS_TEXT], written[UNITS_TEXT];
    if (!entry->has_resources)
        return;
    units_format_duration(entry->cpu_ms, cpu);
    units_format_size(entry->memory_peak_bytes, memory);
    units_format_size(entry->bytes_written, written);
    head(p, "used");
    buf_append_format(p->out, "%s of CPU time, %s of memory, %" PRIu64 " process%s, %s written\n",
                      cpu, memory, entry->processes_peak, entry->processes_peak == 1 ? "" : "es",
                      written);
}

static void show_programs(const struct page *p, const struct entry *entry)
{
    for (size_t i = 0; i < entry->executed_count; i++) {
        const struct entry_program *program = &entry->executed[i];
        if (i == 0)
            head(p, "programs");
        else
            buf_append_text(p->out, INDENT);
        for (size_t k = 0; k < program->argc; k++) {
            if (k)
                buf_append_byte(p->out, ' ');
            safe(p, program->argv[k], strlen(program->argv[k]), true);
        }
        if (program->argc_total > program->argc)
            buf_append_text(p->out, " ...");
        if (program->exit_code >= 0)
            buf_append_format(p->out, "  (exit code %d)", program->exit_code);
        buf_append_byte(p->out, '\n');
    }
    more(p, entry->executed_count, entry->executed_total);
}

static void show_changes(const struct page *p, const struct entry *entry)
{
    const struct entry_changes *changes = &entry->changes;
    uint64_t all = 0;
    if (!changes->known)
        return;
    head(p, "changes");
    format_change_counts(changes, p->out);
    buf_append_byte(p->out, '\n');
    for (size_t i = 0; i < changes->count; i++) {
        const struct entry_change *change = &changes->items[i];
        buf_append_format(p->out, INDENT "%-9s", entry_change_kind_names[change->kind]);
        safe(p, change->path, strlen(change->path), true);
        if (change->to) {
            buf_append_text(p->out, " -> ");
            safe(p, change->to, strlen(change->to), true);
        }
        buf_append_byte(p->out, '\n');
    }
    for (size_t kind = 0; kind < ENTRY_CHANGE_KINDS; kind++)
        all += changes->counts[kind];
    more(p, changes->count, all);
    line(p, "hash before", entry->fs_hash_before);
    line(p, "hash after", entry->fs_hash_after);
    if (entry->has_reversible)
        line(p, "reversible", entry->reversible ? "yes" : "no");
}

/* --- output ---------------------------------------------------------------------------------- */

/* Both streams in the order in which they were printed; each line says whose it is. */
struct output {
    const struct page *page;
    int stream; /* of the line that is open; 0: none */
    struct escape escape;
};

static void end_line(struct output *o)
{
    if (!o->stream)
        return;
    escape_finish(&o->escape, o->page->out);
    if (o->page->style->colour && o->stream == 2)
        buf_append_text(o->page->out, PLAIN);
    buf_append_byte(o->page->out, '\n');
    o->stream = 0;
}

static void begin_line(struct output *o, int stream)
{
    if (o->stream == stream)
        return;
    end_line(o);
    o->stream = stream;
    buf_append_text(o->page->out, stream == 1 ? "  | " : "  ! ");
    if (o->page->style->colour && stream == 2)
        buf_append_text(o->page->out, RED);
}

static void show_frame(struct output *o, const struct frame *frame)
{
    if (frame->left_out) {
        end_line(o);
        buf_append_text(o->page->out, frame->stream == 1 ? "  | (left out)\n" : "  ! (left out)\n");
        return;
    }
    for (const char *at = frame->bytes, *end = at + frame->len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        begin_line(o, frame->stream);
        escape_append(&o->escape, at, (size_t)((stop ? stop : end) - at), o->page->out);
        if (!stop)
            return;
        end_line(o);
        at = stop + 1;
    }
}

static void describe_stream(const struct page *p, const char *name,
                            const struct entry_stream *stream)
{
    char size[UNITS_TEXT];
    units_format_size(stream->bytes, size);
    buf_append_format(p->out, "%s of %s%s", size, name, stream->truncated ? " (not all kept)" : "");
}

static void show_output(const struct page *p, const struct history_run *run)
{
    const struct entry_output *output = &run->main->entry.output;
    const char *at = run->frames, *end = at ? at + run->frames_len : at;
    struct output o = {.page = p, .escape = {.ascii_only = p->style->ascii_only}};
    struct frame frame;
    int r = 0;
    if (!output->known)
        return;
    head(p, "output");
    describe_stream(p, "stdout", &output->stdout_stream);
    buf_append_text(p->out, ", ");
    describe_stream(p, "stderr", &output->stderr_stream);
    buf_append_byte(p->out, '\n');
    while (at && (r = frames_next(&at, end, &frame)) > 0)
        show_frame(&o, &frame);
    end_line(&o);
    line(p, "", run->frames_missing);
    if (r < 0 && !run->frames_missing)
        line(p, "", "(what follows cannot be read)");
}

/* --- all of it ------------------------------------------------------------------------------- */

static void show_ledger(const struct page *p, const struct history_run *run)
{
    head(p, "ledger");
    buf_append_format(p->out, "entry %" PRIu64 ", hash %s\n", run->main->index, run->main->hash);
    if (run->has_result && run->has_intent)
        buf_append_format(p->out, INDENT "intent: entry %" PRIu64 ", hash %s\n", run->intent.index,
                          run->intent.hash);
    for (size_t i = 0; i < run->later_count; i++) {
        const struct history_entry *later = &run->later[i];
        if (i == 0)
            head(p, "later");
        else
            buf_append_text(p->out, INDENT);
        buf_append_format(p->out, "%s", entry_kind_names[later->entry.kind]);
        if (later->entry.time) {
            buf_append_byte(p->out, ' ');
            safe(p, later->entry.time, strlen(later->entry.time), true);
        }
        buf_append_format(p->out, ", entry %" PRIu64, later->index);
        if (later->entry.status) {
            buf_append_text(p->out, ", ");
            safe(p, later->entry.status, strlen(later->entry.status), true);
        }
        if (later->entry.confirmed_by) {
            buf_append_text(p->out, " by ");
            safe(p, later->entry.confirmed_by, strlen(later->entry.confirmed_by), true);
        }
        if (later->entry.detail) {
            buf_append_text(p->out, ": ");
            safe(p, later->entry.detail, strlen(later->entry.detail), true);
        }
        buf_append_byte(p->out, '\n');
    }
}

static void show_end(const struct page *p, const struct history_run *run)
{
    const struct entry *entry = &run->main->entry;
    char text[FORMAT_TIME];
    line(p, "status", run->status);
    if (entry->has_exit_code) {
        snprintf(text, sizeof(text), "%d", entry->exit_code);
        line(p, "exit code", text);
    }
    if (entry->output.known) {
        format_duration(true, entry->duration_ms, text);
        line(p, "duration", text);
    }
    line(p, "limit", entry->limit);
    line(p, "error", entry->error);
}

static void show_script(const struct page *p, const struct history_run *run)
{
    const struct entry_script *script = &run->main->entry.script;
    const struct entry_text text = {.bytes = run->script, .len = run->script_len};
    char size[FORMAT_TIME];
    if (!script->language)
        return;
    line(p, "language", script->language);
    snprintf(size, sizeof(size), "%" PRIu64 " bytes%s", script->bytes,
             script->redacted ? ", redacted" : "");
    line(p, "script", size);
    line(p, "sha256", script->object[0] ? script->object : NULL);
    lines(p, "", &text);
    line(p, "", run->script_missing);
}

int format_run_text(const struct history_run *run, const struct format_style *style,
                    struct buf *out)
{
    const struct page page = {out, style}, *p = &page;
    const struct entry *entry = &run->main->entry;
    line(p, "run", entry->id);
    line(p, "time", entry->time);
    lines(p, "command", &entry->command);
    lines(p, "canonical", &entry->canonical);
    show_script(p, run);
    show_end(p, run);
    show_verdict(p, entry);
    line(p, "agent", entry->agent);
    line(p, "profile", entry->profile);
    line(p, "job", entry->job);
    line(p, "session", entry->session);
    line(p, "user", entry->user);
    line(p, "workspace", entry->workspace);
    line(p, "directory", entry->working_dir);
    line(p, "strength", entry->strength);
    if (entry->network)
        line(p, "network", "on");
    show_resources(p, entry);
    show_programs(p, entry);
    show_changes(p, entry);
    show_output(p, run);
    for (size_t i = 0; i < entry->warning_count; i++)
        line(p, i ? "" : "warnings", entry->warnings[i]);
    more(p, entry->warning_count, entry->warning_total);
    line(p, "detail", entry->detail);
    show_ledger(p, run);
    return out->failed;
}
