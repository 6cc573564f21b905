/* nacre session: what is kept between the runs of a session. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "history/format.h"
#include "session/session.h"

enum { ARENA_MAX = 64 << 20, TEXT_MAX = 16 << 20 };

struct session_options {
    struct place_options place;
    bool json;
};

static const struct option session_options[] = {
    PLACE_OPTIONS(struct session_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print JSON: an array, or one session",
     .offset = offsetof(struct session_options, json)},
    {0},
};

static void print_json(const struct session_listed *items, size_t count)
{
    struct json j;
    char time[CLOCK_RFC3339 + 1];
    json_init(&j, cli_print_json, NULL);
    json_array_begin(&j);
    for (size_t i = 0; i < count; i++) {
        clock_format_rfc3339(items[i].time_ms, time);
        json_object_begin(&j);
        json_key(&j, "name");
        json_text(&j, items[i].name);
        json_key(&j, "working_dir");
        json_text(&j, items[i].cwd);
        json_key(&j, "bytes");
        json_unsigned(&j, items[i].bytes);
        json_key(&j, "timestamp");
        json_text(&j, time);
        json_object_end(&j);
    }
    json_array_end(&j);
    cli_print("\n", 1);
}

static void print_text(const struct session_listed *items, size_t count)
{
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        char time[FORMAT_TIME];
        format_time(items[i].time_ms, time);
        buf_append_format(&out, "%-16s  %s  ", items[i].name, time);
        cli_append_escaped(&out, items[i].cwd ? items[i].cwd : "?", TEXT_MAX);
        buf_append_byte(&out, '\n');
    }
    cli_print_buf(&out);
}

static int list(struct arena *arena, const struct setting *s, bool json, struct err *e)
{
    struct session_listed *items;
    size_t count;
    int r = session_list(arena, s->state_dir, s->workspace.root, &items, &count, e);
    if (r < 0)
        return r;
    if (json)
        print_json(items, count);
    else
        print_text(items, count);
    return 0;
}

/* What would stand before the next text. */
static int show(struct arena *arena, const struct setting *s, const char *name, bool json,
                struct err *e)
{
    struct session_state state;
    struct buf out;
    int r = session_peek(arena, s->state_dir, s->workspace.root, name, &state, e);
    if (r < 0)
        return r;
    if (json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        json_object_begin(&j);
        json_key(&j, "name");
        json_text(&j, name);
        json_key(&j, "working_dir");
        json_text(&j, state.cwd);
        json_key(&j, "text");
        json_bytes(&j, state.text, state.len);
        json_object_end(&j);
        return cli_print("\n", 1);
    }
    buf_init(&out, &allocator_libc, TEXT_MAX);
    if (state.cwd) {
        buf_append_text(&out, "# ");
        cli_append_escaped(&out, state.cwd, TEXT_MAX);
        buf_append_byte(&out, '\n');
    }
    cli_append_escaped(&out, state.text, TEXT_MAX);
    return cli_print_buf(&out);
}

static int session_run(const void *options, const struct options_parsed *words)
{
    const struct session_options *wanted = options;
    const char *what = words->count ? words->operands[0] : "list";
    bool listing = strcmp(what, "list") == 0 && words->count <= 1;
    bool removing = strcmp(what, "rm") == 0 && words->count >= 2;
    bool showing = strcmp(what, "show") == 0 && words->count == 2;
    nacre_run_options o = place_run_options(&wanted->place);
    struct arena arena;
    struct setting s = {0};
    struct err e = {0};
    if (!listing && !removing && !showing) {
        cli_complain("session: list, show NAME, or rm NAME...");
        return EXIT_WRONG_CALL;
    }
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    static const struct policy_options any;
    int r = decide_run_options(&arena, &any, NULL, &o, &e);
    if (r == 0)
        r = engine_open_setting(&arena, NULL, &o, &s, &e);
    if (r == 0 && !s.state_dir)
        r = err_set(&e, -ENOTDIR, "HOME is not set, so there is no state directory");
    if (r == 0 && listing)
        r = list(&arena, &s, wanted->json, &e);
    else if (r == 0 && showing)
        r = show(&arena, &s, words->operands[1], wanted->json, &e);
    for (int i = 1; r == 0 && removing && i < words->count; i++)
        r = session_remove(s.state_dir, s.workspace.root, words->operands[i], &e);
    if (r < 0)
        cli_complain("session: %s", e.message);
    arena_release(&arena);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_session = {
    .name = "session",
    .summary = "what is kept between the runs of a session",
    .synopsis = "list | show NAME | rm NAME...",
    .description =
        "Sessions belong to a workspace and come into being with `nacre run --session NAME`. "
        "`list` "
        "has their names, when they were last used and in which directory they were left; `show` "
        "prints what will be put before the next text, and judged with it; `rm` forgets them.\n"
        "\n"
        "    nacre run --session work 'cd src; export CC=clang; say() { echo \"[$1]\"; }'\n"
        "    nacre run --session work 'say \"$CC in $PWD\"'\n"
        "    nacre session show work\n"
        "\n"
        "Exit status: 0; 1 when there is no such session, or it is in use; 2 for a wrong call.",
    .options = session_options,
    .options_size = sizeof(struct session_options),
    .operand_choices = "list|show|rm",
    .wrong_call = EXIT_WRONG_CALL,
    .run = session_run,
};
