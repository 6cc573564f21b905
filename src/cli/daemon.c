/* nacre daemon: keeps warm sandboxes for this user. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/daemon.h"

enum { POOL_DEFAULT = 4, ARENA_MAX = 1 << 20, TEXT_MAX = 1 << 16 };

struct daemon_command_options {
    const char *pool;
    uint64_t idle_ms;
    bool stop, status, json;
};

static const struct option daemon_options[] = {
    {.name = "pool",
     .kind = OPTION_TEXT,
     .value_name = "N",
     .help = "how many sandboxes of each kind are kept ready (default 4)",
     .offset = offsetof(struct daemon_command_options, pool)},
    {.name = "idle",
     .kind = OPTION_DURATION,
     .value_name = "TIME",
     .help = "end when nothing was asked for so long (default: never)",
     .offset = offsetof(struct daemon_command_options, idle_ms)},
    {.name = "stop",
     .kind = OPTION_FLAG,
     .help = "end the daemon that there is, and its runs",
     .offset = offsetof(struct daemon_command_options, stop)},
    {.name = "status",
     .kind = OPTION_FLAG,
     .help = "tell what the daemon that there is has built and used",
     .offset = offsetof(struct daemon_command_options, status)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "with --status: print one JSON object",
     .offset = offsetof(struct daemon_command_options, json)},
    {0},
};

static int watch_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int serve(const struct daemon_command_options *wanted, const char *state)
{
    char launcher[PATH_MAX];
    struct err e;
    unsigned long pool = POOL_DEFAULT;
    if (wanted->pool) {
        char *end;
        errno = 0;
        pool = strtoul(wanted->pool, &end, 10);
        if (*end || end == wanted->pool || errno || pool > POOL_MAX) {
            cli_complain("daemon: --pool wants a number up to %d, not '%s'", POOL_MAX,
                         wanted->pool);
            return EXIT_WRONG_CALL;
        }
    }
    FD_CLEANUP int signals = watch_signals();
    const struct daemon_options options = {
        .state = state,
        .launcher = cli_find_launcher(launcher) ? launcher : NULL,
        .pool = (unsigned)pool,
        .judges = cli_judges,
        .stop_fd = signals,
        .idle_ms = wanted->idle_ms,
    };
    if (signals < 0) {
        cli_complain("daemon: cannot watch signals: %s", strerror(-signals));
        return EXIT_NO;
    }
    if (daemon_serve(&options, &e) < 0) {
        cli_complain("daemon: %s", e.message);
        return EXIT_NO;
    }
    return EXIT_YES;
}

static void print_text(const struct daemon_figures *f)
{
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    buf_append_format(&out, "pid         %" PRId64 "\nruns        %" PRIu64 " under way\n", f->pid,
                      f->runs);
    buf_append_format(&out,
                      "pool        %zu ready, and %zu with the workspace; %zu of a kind wanted\n",
                      f->pool.ready, f->pool.laid, f->pool.size);
    buf_append_format(&out, "built       %" PRIu64 ", in %" PRIu64 " us each\n", f->pool.built,
                      f->pool.mean_build_us);
    buf_append_format(&out, "used        %" PRIu64 ", and %" PRIu64 " run%s found none\n",
                      f->pool.taken, f->pool.missed, f->pool.missed == 1 ? "" : "s");
    cli_print_buf(&out);
}

void daemon_write_json(const struct daemon_figures *f, struct json *j)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"pid", (uint64_t)f->pid},
        {"runs", f->runs},
        {"pool", f->pool.size},
        {"ready", f->pool.ready},
        {"laid", f->pool.laid},
        {"built", f->pool.built},
        {"build_us", f->pool.mean_build_us},
        {"laid_used", f->pool.laid_taken},
        {"used", f->pool.taken},
        {"missed", f->pool.missed},
    };
    json_object_begin(j);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_key(j, rows[i].name);
        json_unsigned(j, rows[i].value);
    }
    json_object_end(j);
}

static int ask(const struct daemon_command_options *wanted, const char *state)
{
    struct daemon_figures figures;
    struct err e;
    int fd = daemon_connect(state, &e);
    if (fd < 0) {
        cli_complain("daemon: %s", fd == -ENOENT ? "there is none" : e.message);
        return EXIT_NO;
    }
    int r = wanted->stop ? daemon_ask_stop(fd, &e) : daemon_ask_figures(fd, &figures, &e);
    if (r < 0) {
        cli_complain("daemon: %s", e.message);
        return EXIT_NO;
    }
    if (wanted->status && wanted->json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        daemon_write_json(&figures, &j);
        json_finish(&j);
        cli_print("\n", 1);
    } else if (wanted->status) {
        print_text(&figures);
    }
    return cli_finish(EXIT_YES, EXIT_NO);
}

static int daemon_command(const void *options, const struct options_parsed *words)
{
    const struct daemon_command_options *wanted = options;
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT;
    struct arena arena;
    if (words->count || (wanted->stop && wanted->status)) {
        cli_complain("daemon: takes no operands, and --stop or --status alone");
        return EXIT_WRONG_CALL;
    }
    o.environment = cli_environment();
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    const char *home = engine_canonical_home(&arena, engine_home(&o));
    const char *state = engine_state_dir(&arena, &o, home);
    int status = EXIT_NO;
    if (!state)
        cli_complain("daemon: there is no state directory: HOME and XDG_STATE_HOME are not set");
    else
        status = wanted->stop || wanted->status ? ask(wanted, state) : serve(wanted, state);
    arena_release(&arena);
    return status;
}

const struct command command_daemon = {
    .name = "daemon",
    .summary = "keep warm sandboxes for this user; never required",
    .synopsis = "",
    .description =
        "Builds sandboxes ahead, and runs texts in them for `nacre run`, which finds the daemon by "
        "itself and does without where there is none. Verdict, walls, limits, changes and record "
        "are the same; it is only faster. Each sandbox is used once.\n"
        "\n"
        "It stays in the foreground until it is told to end: by a signal, or by --stop. The runs "
        "that are under way then are killed.\n"
        "\n"
        "    nacre daemon &\n"
        "    nacre daemon --status\n"
        "    nacre daemon --stop",
    .options = daemon_options,
    .options_size = sizeof(struct daemon_command_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = daemon_command,
};
