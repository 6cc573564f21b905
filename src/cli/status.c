/* nacre status: what is enabled here. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/decide.h"

enum { TEXT_MAX = 1 << 20, ARENA_MAX = 16 << 20 };

struct status_options {
    struct place_options place;
    struct policy_options policy;
    bool json;
};

static const struct option status_options[] = {
    PLACE_OPTIONS(struct status_options),
    POLICY_OPTIONS(struct status_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct status_options, json)},
    {0},
};

/* The namespaces of the plan: what stands is read off the data that builds it. */
static void each_namespace(const struct plan *plan, void (*call)(void *user, const char *name),
                           void *user)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_UNSHARE)
            call(user, plan->steps[i].text);
    }
}

static void append_name(void *user, const char *name)
{
    buf_append_format(user, " %s", name);
}

static void write_name(void *user, const char *name)
{
    json_text(user, name);
}

/* The policy's limits, by the names that --limit takes. */
struct limit_row {
    const char *name;
    uint64_t value;
    void (*format)(uint64_t value, char ret[static UNITS_TEXT]);
};

static void format_count(uint64_t value, char ret[static UNITS_TEXT])
{
    snprintf(ret, UNITS_TEXT, "%llu", (unsigned long long)value);
}

enum { LIMIT_ROWS = 8 };

static void list_limits(const struct policy *p, struct limit_row ret[static LIMIT_ROWS])
{
    const struct limit_row rows[LIMIT_ROWS] = {
        {"timeout", p->default_timeout_ms, units_format_duration},
        {"timeout_max", p->limits.timeout_max_ms, units_format_duration},
        {"cpu", p->limits.cpu_ms, units_format_duration},
        {"memory", p->limits.memory_bytes, units_format_size},
        {"processes", p->limits.processes, format_count},
        {"files", p->limits.files, format_count},
        {"disk", p->limits.disk_bytes, units_format_size},
        {"output", p->limits.output_bytes, units_format_size},
    };
    memcpy(ret, rows, sizeof(rows));
}

/* The ledger's head: how many entries are signed. False: there is none yet, or none to be had. */
static bool find_ledger(const struct setting *s, char ret_dir[static PATH_MAX], uint64_t *ret_size,
                        struct err *e)
{
    struct ledger *ledger;
    const struct ledger_options options = {.flags = LEDGER_READ_ONLY};
    if (!s->state_dir ||
        (size_t)snprintf(ret_dir, PATH_MAX, "%s/ledger", s->state_dir) >= PATH_MAX ||
        access(ret_dir, F_OK) < 0 || ledger_open(ret_dir, &options, &ledger, e) < 0)
        return false;
    bool found = ledger_size(ledger, ret_size, e) == 0;
    ledger_close(ledger);
    return found;
}

static void append_ledger(const struct setting *s, struct buf *out)
{
    char dir[PATH_MAX];
    uint64_t size;
    struct err e = {0};
    buf_append_text(out, "ledger      ");
    if (find_ledger(s, dir, &size, &e)) {
        json_append_text(out, dir);
        buf_append_format(out, ", %" PRIu64 " entries\n", size);
    } else if (!s->state_dir) {
        buf_append_text(out, "none: there is no state directory\n");
    } else if (e.code < 0) {
        cli_append_escaped(out, e.message, SIZE_MAX);
        buf_append_byte(out, '\n');
    } else {
        buf_append_text(out, "none yet\n");
    }
}

/* How many sandboxes a daemon has ready. */
static bool find_daemon(const struct setting *s, struct daemon_figures *ret)
{
    struct err ignored;
    int fd = s->state_dir ? daemon_connect(s->state_dir, &ignored) : -1;
    return fd >= 0 && daemon_ask_figures(fd, ret, &ignored) == 0;
}

static const char *network_text(const struct policy *p)
{
    return p->network == NETWORK_ON ? "on (the host's)" : "off (loopback of its own)";
}

/* Which commands run, in a line. */
static const char *shell_text(const struct policy *p)
{
    static const char *const texts[] = {
        [DECISION_DENY] = "on (blocklist and allowlist; any other command is denied)",
        [DECISION_CONFIRM] = "on (blocklist and allowlist; any other command is asked about)",
        [DECISION_ALLOW] = "on (blocklist; any other command is allowed)",
    };
    return p->refused ? "off: no command runs" : texts[p->unknown];
}

static void print_text(const struct nacre *n, const struct setting *s, const struct plan *plan)
{
    const struct policy *p = s->decider.policy;
    struct limit_row rows[LIMIT_ROWS];
    struct buf out;
    list_limits(p, rows);
    buf_init(&out, &allocator_libc, TEXT_MAX);
    buf_append_format(
        &out,
        "nacre       %s\nprofile     %s\npreset      %s\nagent       %s\nshell       %s\n"
        "workspace   ",
        nacre_version(), p->profile, p->preset ? p->preset : "-", p->agent ? p->agent : "-",
        shell_text(p));
    json_append_text(&out, s->workspace.root);
    buf_append_text(&out, p->workspace_read_only ? " (read-only)" : "");
    buf_append_text(&out, "\nlauncher    ");
    json_append_text(&out, n->launcher);
    buf_append_text(&out, "\nnamespaces ");
    each_namespace(plan, append_name, &out);
    buf_append_format(&out, "\nlandlock    ");
    if (n->host.landlock_abi)
        buf_append_format(&out, "version %u of its interface", n->host.landlock_abi);
    else
        buf_append_text(&out, "none");
    buf_append_format(&out, "\nnetwork     %s\n", network_text(p));
    append_ledger(s, &out);
    struct daemon_figures daemon;
    if (find_daemon(s, &daemon))
        buf_append_format(&out,
                          "pool        %zu ready, %" PRIu64 " used, built in %" PRIu64
                          " us each (daemon %" PRId64 ")\n",
                          daemon.pool.ready, daemon.pool.taken, daemon.pool.mean_build_us,
                          daemon.pid);
    else
        buf_append_text(&out, "pool        none: there is no daemon\n");
    for (size_t i = 0; i < LIMIT_ROWS; i++) {
        char value[UNITS_TEXT] = "none";
        if (rows[i].value)
            rows[i].format(rows[i].value, value);
        buf_append_format(&out, "%-11s %s\n", rows[i].name, value);
    }
    cli_print_buf(&out);
}

static void print_json(const struct nacre *n, const struct setting *s, const struct plan *plan)
{
    const struct policy *p = s->decider.policy;
    struct limit_row rows[LIMIT_ROWS];
    struct json json, *j = &json;
    list_limits(p, rows);
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    json_key(j, "version");
    json_text(j, nacre_version());
    json_key(j, "profile");
    json_text(j, p->profile);
    if (p->preset) {
        json_key(j, "preset");
        json_text(j, p->preset);
    }
    if (p->agent) {
        json_key(j, "agent");
        json_text(j, p->agent);
    }
    json_key(j, "shell");
    json_object_begin(j);
    json_key(j, "enabled");
    json_bool(j, !p->refused);
    json_key(j, "unknown");
    json_text(j, decision_names[p->refused ? DECISION_DENY : p->unknown]);
    json_object_end(j);
    json_key(j, "workspace");
    json_text(j, s->workspace.root);
    json_key(j, "launcher");
    json_text(j, n->launcher);
    json_key(j, "namespaces");
    json_array_begin(j);
    each_namespace(plan, write_name, j);
    json_array_end(j);
    json_key(j, "landlock");
    json_unsigned(j, n->host.landlock_abi);
    json_key(j, "network");
    json_text(j, p->network == NETWORK_ON ? "on" : "off");
    char dir[PATH_MAX];
    uint64_t entries;
    struct err e = {0};
    if (find_ledger(s, dir, &entries, &e)) {
        json_key(j, "ledger");
        json_object_begin(j);
        json_key(j, "path");
        json_text(j, dir);
        json_key(j, "entries");
        json_unsigned(j, entries);
        json_object_end(j);
    } else if (e.code < 0) {
        json_key(j, "ledger_error");
        json_text(j, e.message);
    }
    struct daemon_figures daemon;
    if (find_daemon(s, &daemon)) {
        json_key(j, "daemon");
        daemon_write_json(&daemon, j);
    }
    json_key(j, "limits");
    json_object_begin(j);
    for (size_t i = 0; i < LIMIT_ROWS; i++) {
        bool time = rows[i].format == units_format_duration;
        bool size = rows[i].format == units_format_size;
        char name[32];
        snprintf(name, sizeof(name), "%s%s", rows[i].name, time ? "_ms" : size ? "_bytes" : "");
        json_key(j, name);
        json_unsigned(j, rows[i].value);
    }
    json_object_end(j);
    json_object_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static void print_status(const struct nacre *n, const struct setting *setting,
                         const struct plan *plan, const void *user)
{
    const struct status_options *wanted = user;
    (wanted->json ? print_json : print_text)(n, setting, plan);
}

static int status_run(const void *options, const struct options_parsed *words)
{
    const struct status_options *wanted = options;
    if (words->count) {
        cli_complain("status: takes no operands");
        return EXIT_WRONG_CALL;
    }
    struct arena arena;
    struct err e;
    nacre_run_options run_options = place_run_options(&wanted->place);
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int status = EXIT_NO;
    if (decide_run_options(&arena, &wanted->policy, NULL, &run_options, &e) < 0)
        cli_complain("status: %s", e.message);
    else
        status = place_with_plan(&run_options, "", 0, "status", print_status, wanted);
    arena_release(&arena);
    return status;
}

const struct command command_status = {
    .name = "status",
    .summary = "what is enabled here: policy, workspace, walls, limits",
    .synopsis = "",
    .description = "Prints what a run in this directory would get. `nacre doctor` tells what this "
                   "machine could enforce.",
    .options = status_options,
    .options_size = sizeof(struct status_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = status_run,
};
