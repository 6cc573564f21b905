/* nacre doctor: what this kernel and user can enforce, and how to get the rest. */
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/cli.h"
#include "sandbox/probe.h"

enum { OUTPUT_MAX = 64 * 1024, NAME_WIDTH = 20 };

struct doctor_options {
    bool json;
};

static const struct option doctor_options[] = {
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .help = "print one JSON object",
        .offset = offsetof(struct doctor_options, json),
    },
    {0},
};

static void write_json(const struct probe_result *rows, size_t count, bool ok, struct buf *out)
{
    struct json j;
    json_init_buf(&j, out);
    json_object_begin(&j);
    json_key(&j, "ok");
    json_bool(&j, ok);
    json_key(&j, "probes");
    json_array_begin(&j);
    for (const struct probe_result *row = rows; row < rows + count; row++) {
        json_object_begin(&j);
        json_key(&j, "name");
        json_text(&j, row->name);
        json_key(&j, "need");
        json_text(&j, row->need == PROBE_REQUIRED ? "required" : "wanted");
        json_key(&j, "present");
        json_bool(&j, row->state == PROBE_PRESENT);
        json_key(&j, "detail");
        json_text(&j, row->detail);
        json_key(&j, "remedy");
        json_text(&j, row->remedy[0] ? row->remedy : NULL);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    int r = json_finish(&j);
    if (r < 0 && !out->failed)
        out->failed = r;
    buf_append_byte(out, '\n');
}

/* Details quote what files and programs said. */
static void append_safe(struct buf *out, const char *text)
{
    struct escape e = {.ascii_only = !cli_terminal_is_utf8()};
    escape_append(&e, text, strlen(text), out);
    escape_finish(&e, out);
}

static void write_table(const struct probe_result *rows, size_t count, size_t missing, bool colour,
                        struct buf *out)
{
    for (const struct probe_result *row = rows; row < rows + count; row++) {
        const char *mark = "missing", *paint = "\033[31m";
        if (row->state == PROBE_PRESENT) {
            mark = "ok";
            paint = "\033[32m";
        } else if (row->need == PROBE_WANTED) {
            mark = "weaker";
            paint = "\033[33m";
        }
        buf_append_format(out, "%s%-7s%s  %-*s  ", colour ? paint : "", mark,
                          colour ? "\033[0m" : "", NAME_WIDTH, row->name);
        append_safe(out, row->detail);
        if (row->remedy[0]) {
            buf_append_text(out, "\n         ");
            append_safe(out, row->remedy);
        }
        buf_append_byte(out, '\n');
    }
    if (missing)
        buf_append_format(out, "\nrequired and missing: %zu\n", missing);
    else
        buf_append_text(out, "\neverything required is present\n");
}

static int doctor_run(const void *options, const struct options_parsed *words)
{
    const struct doctor_options *wanted = options;
    if (words->count) {
        cli_complain("doctor: takes no operands");
        return EXIT_WRONG_CALL;
    }

    struct probe_result rows[PROBE_MAX];
    size_t found = probe_all(rows, PROBE_MAX), missing = 0;
    for (size_t i = 0; i < found; i++)
        missing += rows[i].need == PROBE_REQUIRED && rows[i].state != PROBE_PRESENT;

    struct buf out;
    buf_init(&out, &allocator_libc, OUTPUT_MAX);
    if (wanted->json)
        write_json(rows, found, missing == 0, &out);
    else
        write_table(rows, found, missing, cli_colour(), &out);
    cli_print_buf(&out);
    return cli_finish(missing ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "what this kernel and user can enforce, and how to get the rest",
    .synopsis = "",
    .description =
        "Tries every kernel feature that the sandbox needs, as this user, and says what is\n"
        "missing and how to get it. 'missing': no run in full strength without it; "
        "'weaker':\n"
        "something is weaker or slower, or comes later. Changes nothing.\n"
        "Exit status: 0 when everything required is present, 1 otherwise, 2 for a wrong\n"
        "call.",
    .options = doctor_options,
    .options_size = sizeof(struct doctor_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = doctor_run,
};
