/*
 * Writes entries through the history room, for tests. Errors go to standard error, exit 1.
 *
 *   history run STATE NAME=VALUE…       an intent and a result; prints "INTENT RESULT"
 *   history intent STATE NAME=VALUE…    an intent alone; prints its index
 *   history hold STATE NAME=VALUE…      an intent whose run is under way until standard input ends
 *   history undo|commit|redo|discard STATE NAME=VALUE…
 *   history object STATE                standard input as an object; prints its name
 *
 * Names are those of entries: id, time, agent, job, command, canonical, status, verdict, rule,
 * reason, exit_code, duration_ms, limit, created, modified, deleted, renamed (A:B), workspace,
 * detail, warning, error, stdout, stderr, left_out, object, program, confirmed_by. Those of lists
 * and of output may stand several times, in their order; MS@TEXT says when output came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history/entry.h"
#include "history/frames.h"
#include "history/object.h"
#include "history/running.h"
#include "ledger/ledger.h"

enum { ITEMS_MAX = 64 };

static struct err failure;
static struct entry_change changes[ITEMS_MAX];
static struct entry_reason reasons[ITEMS_MAX];
static struct entry_program programs[ITEMS_MAX];
static const char *program_words[ITEMS_MAX][1], *warnings[ITEMS_MAX];
static struct buf frames;
static struct sha256 hashes[2];

static int fail(void)
{
    fprintf(stderr, "history: %s\n", failure.message);
    return 1;
}

static void add_output(struct entry *entry, int stream, char *text)
{
    char *rest;
    unsigned long ms = strtoul(text, &rest, 10);
    if (rest == text || *rest != '@')
        ms = 0;
    else
        text = rest + 1;
    struct entry_stream *to =
        stream == 1 ? &entry->output.stdout_stream : &entry->output.stderr_stream;
    to->bytes += strlen(text);
    sha256_add(&hashes[stream - 1], text, strlen(text));
    frames_append(&frames, stream, ms, text, strlen(text));
}

static void add_change(struct entry *entry, enum entry_change_kind kind, char *path)
{
    struct entry_change *change = &changes[entry->changes.count++ % ITEMS_MAX];
    char *to = kind == ENTRY_RENAMED ? strchr(path, ':') : NULL;
    if (to)
        *to++ = '\0';
    *change = (struct entry_change){.kind = kind, .path = path, .to = to};
    entry->changes.counts[kind]++;
}

/* What is not a text of its own. */
static bool set_special(struct entry *entry, const char *name, char *value)
{
    for (size_t kind = 0; kind < ENTRY_CHANGE_KINDS; kind++) {
        if (strcmp(name, entry_change_kind_names[kind]) == 0) {
            add_change(entry, (enum entry_change_kind)kind, value);
            return true;
        }
    }
    if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0)
        add_output(entry, strcmp(name, "stdout") == 0 ? 1 : 2, value);
    else if (strcmp(name, "left_out") == 0)
        frames_append(&frames, value[0] == '2' ? 2 : 1, 0, NULL, 0);
    else if (strcmp(name, "reason") == 0)
        reasons[entry->reason_count++ % ITEMS_MAX] = (struct entry_reason){"rule", value};
    else if (strcmp(name, "warning") == 0)
        warnings[entry->warning_count++ % ITEMS_MAX] = value;
    else if (strcmp(name, "program") == 0) {
        program_words[entry->executed_count % ITEMS_MAX][0] = value;
        programs[entry->executed_count % ITEMS_MAX] = (struct entry_program){
            .argv = program_words[entry->executed_count % ITEMS_MAX], .argc = 1};
        entry->executed_count++;
    } else if (strcmp(name, "exit_code") == 0) {
        entry->has_exit_code = true;
        entry->exit_code = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "duration_ms") == 0)
        entry->duration_ms = strtoull(value, NULL, 10);
    else if (strcmp(name, "object") == 0)
        snprintf(entry->output.object, sizeof(entry->output.object), "%s", value);
    else if (strcmp(name, "command") == 0)
        entry->command = (struct entry_text){.bytes = value, .len = strlen(value)};
    else if (strcmp(name, "canonical") == 0)
        entry->canonical = (struct entry_text){.bytes = value, .len = strlen(value)};
    else
        return false;
    return true;
}

static bool set_text(struct entry *entry, const char *name, const char *value)
{
    const struct {
        const char *name, **field;
    } fields[] = {
        {"id", &entry->id},
        {"time", &entry->time},
        {"agent", &entry->agent},
        {"job", &entry->job},
        {"status", &entry->status},
        {"verdict", &entry->verdict},
        {"rule", &entry->rule},
        {"limit", &entry->limit},
        {"error", &entry->error},
        {"detail", &entry->detail},
        {"workspace", &entry->workspace},
        {"confirmed_by", &entry->confirmed_by},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(name, fields[i].name) == 0) {
            *fields[i].field = value;
            return true;
        }
    }
    return false;
}

static bool fill(struct entry *entry, char **words, int count)
{
    sha256_start(&hashes[0]);
    sha256_start(&hashes[1]);
    for (int i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            return false;
        *value++ = '\0';
        if (!set_special(entry, words[i], value) && !set_text(entry, words[i], value))
            return false;
    }
    entry->reasons = reasons;
    entry->executed = programs;
    entry->warnings = warnings;
    entry->changes.items = changes;
    entry->changes.known = true;
    sha256_end(&hashes[0], entry->output.stdout_stream.hash);
    sha256_end(&hashes[1], entry->output.stderr_stream.hash);
    entry->output.known = entry->has_exit_code;
    if (!entry->output.object[0])
        entry->output.frames = (struct entry_text){.bytes = frames.data, .len = frames.len};
    return true;
}

static int append(struct ledger *l, const struct entry *entry, uint64_t *ret_index)
{
    struct buf text;
    struct ledger_place place;
    buf_init(&text, &allocator_libc, ENTRY_BYTES_MAX);
    int r = entry_write(entry, &text, &failure);
    if (r == 0)
        r = ledger_append(l, text.data, text.len, &place, &failure);
    buf_release(&text);
    if (r == 0)
        *ret_index = place.index;
    return r;
}

static int append_intent(struct ledger *l, const struct entry *entry, uint64_t *ret_index)
{
    const struct entry intent = {
        .kind = ENTRY_INTENT,
        .time = entry->time,
        .id = entry->id,
        .agent = entry->agent,
        .job = entry->job,
        .workspace = entry->workspace,
        .command = entry->command,
        .canonical = entry->canonical,
        .verdict = entry->verdict,
    };
    return append(l, &intent, ret_index);
}

static int hold(const char *state, uint64_t index)
{
    int fd;
    if (running_begin(state, index, &fd, &failure) < 0)
        return fail();
    printf("%llu\n", (unsigned long long)index);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    close(fd);
    return 0;
}

static int put_object(const char *state)
{
    char dir[4096], name[SHA256_HEX + 1], piece[4096];
    struct buf content;
    size_t n;
    snprintf(dir, sizeof(dir), "%s/objects", state);
    buf_init(&content, &allocator_libc, OBJECT_BYTES_MAX);
    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
        buf_append(&content, piece, n);
    int r = object_put(dir, content.data, content.len, name, &failure);
    buf_release(&content);
    if (r < 0)
        return fail();
    puts(name);
    return 0;
}

static int write_entries(struct ledger *l, const char *what, const char *state, struct entry *entry)
{
    uint64_t intent = 0, index = 0;
    if (strcmp(what, "run") == 0 || strcmp(what, "intent") == 0 || strcmp(what, "hold") == 0) {
        if (append_intent(l, entry, &intent) < 0)
            return fail();
        if (strcmp(what, "hold") == 0)
            return hold(state, intent);
        if (strcmp(what, "intent") == 0) {
            printf("%llu\n", (unsigned long long)intent);
            return 0;
        }
        entry->kind = ENTRY_RESULT;
        entry->has_intent = true;
        entry->intent = intent;
        if (append(l, entry, &index) < 0)
            return fail();
        printf("%llu %llu\n", (unsigned long long)intent, (unsigned long long)index);
        return 0;
    }
    for (enum entry_kind kind = ENTRY_NONE + 1; kind < ENTRY_KINDS; kind++) {
        if (strcmp(what, entry_kind_names[kind]) == 0)
            entry->kind = kind;
    }
    if (entry->kind != ENTRY_RESULT) {
        entry->changes.known = false;
        entry->output.known = false;
    }
    if (append(l, entry, &index) < 0)
        return fail();
    printf("%llu\n", (unsigned long long)index);
    return 0;
}

int main(int argc, char **argv)
{
    struct entry entry = {0};
    struct ledger *l;
    char dir[4096];
    const struct ledger_options options = {.flags = LEDGER_CREATE, .origin = "test"};
    buf_init(&frames, &allocator_libc, 1 << 20);
    if (argc < 3) {
        fputs("usage: history WHAT STATE NAME=VALUE...\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "object") == 0)
        return put_object(argv[2]);
    if (!fill(&entry, argv + 3, argc - 3)) {
        fputs("history: a name that is none\n", stderr);
        return 2;
    }
    snprintf(dir, sizeof(dir), "%s/ledger", argv[2]);
    if (ledger_open(dir, &options, &l, &failure) < 0)
        return fail();
    int status = write_entries(l, argv[1], argv[2], &entry);
    ledger_close(l);
    buf_release(&frames);
    return status;
}
