/* nacre serve: the shell as a server for agents. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "serve/door.h"
#include "serve/mcp.h"

enum { OPTIONS_MAX = 1 << 20 };

struct serve_options {
    struct place_options place;
    struct policy_options policy;
    struct policy_call_options call;
    bool mcp, rpc, sexp, wait;
    const char *parallel, *pool;
    uint64_t patience_ms, progress_ms, timeout_ms;
};

static const struct option serve_options[] = {
    {.name = "mcp",
     .kind = OPTION_FLAG,
     .help = "Model Context Protocol on standard input and output",
     .offset = offsetof(struct serve_options, mcp)},
    {.name = "rpc",
     .kind = OPTION_FLAG,
     .help = "JSON-RPC 2.0, one message a line, for programs",
     .offset = offsetof(struct serve_options, rpc)},
    {.name = "sexp",
     .kind = OPTION_FLAG,
     .help = "S-expressions, for Lisp kernels",
     .offset = offsetof(struct serve_options, sexp)},
    PLACE_OPTIONS(struct serve_options),
    POLICY_OPTIONS(struct serve_options),
    POLICY_CALL_OPTIONS(struct serve_options),
    {.name = "timeout",
     .letter = 't',
     .kind = OPTION_DURATION,
     .value_name = "TIME",
     .help = "of commands that do not say their own (default: the policy's)",
     .offset = offsetof(struct serve_options, timeout_ms)},
    {.name = "patience",
     .kind = OPTION_DURATION,
     .value_name = "TIME",
     .help = "answer a command that takes longer with a handle; it goes on (default 45s)",
     .offset = offsetof(struct serve_options, patience_ms)},
    {.name = "progress",
     .kind = OPTION_DURATION,
     .value_name = "TIME",
     .help = "say so often that a command goes on, to clients that ask for it (default 5s)",
     .offset = offsetof(struct serve_options, progress_ms)},
    {.name = "wait",
     .kind = OPTION_FLAG,
     .help = "a command that a person must confirm waits for `nacre approve`",
     .offset = offsetof(struct serve_options, wait)},
    {.name = "parallel",
     .kind = OPTION_TEXT,
     .value_name = "N",
     .help = "how many calls are worked on at once (default 16); the others wait",
     .offset = offsetof(struct serve_options, parallel)},
    {.name = "pool",
     .kind = OPTION_TEXT,
     .value_name = "N",
     .help = "how many sandboxes are kept ready (default 4)",
     .offset = offsetof(struct serve_options, pool)},
    {0},
};

static bool parse_number(const char *option, const char *text, unsigned long least,
                         unsigned long most, unsigned *ret)
{
    char *end;
    if (!text)
        return true;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || number < least || number > most) {
        cli_complain("serve: --%s wants a number from %lu to %lu, not '%s'", option, least, most,
                     text);
        return false;
    }
    *ret = (unsigned)number;
    return true;
}

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

static int serve(const struct serve_options *wanted, const nacre_run_options *run)
{
    char launcher[PATH_MAX];
    struct err e = {0};
    FD_CLEANUP int signals = watch_signals();
    struct mcp_stdio_options options = {
        .mcp = {.run = run,
                .parallel = MCP_PARALLEL,
                .patience_ms = wanted->patience_ms ? wanted->patience_ms : MCP_PATIENCE_MS,
                .progress_ms = wanted->progress_ms ? wanted->progress_ms : MCP_PROGRESS_MS,
                .message_max = MCP_MESSAGE_MAX},
        .launcher = cli_find_launcher(launcher) ? launcher : NULL,
        .pool = MCP_POOL,
        .in_fd = STDIN_FILENO,
        .out_fd = STDOUT_FILENO,
        .stop_fd = signals,
    };
    if (!parse_number("parallel", wanted->parallel, 1, MCP_PARALLEL_MAX, &options.mcp.parallel) ||
        !parse_number("pool", wanted->pool, 0, POOL_MAX, &options.pool))
        return EXIT_WRONG_CALL;
    if (signals < 0) {
        cli_complain("serve: cannot watch signals: %s", strerror(-signals));
        return EXIT_NO;
    }
    if (cli_stdin_is_closed()) {
        cli_complain("serve: standard input is closed");
        return EXIT_WRONG_CALL;
    }
    if (isatty(STDIN_FILENO))
        cli_complain("serve: this speaks %s, and is for programs; %s",
                     wanted->sexp ? "S-expressions" : "JSON-RPC, one message a line",
                     wanted->mcp    ? "docs/agents.md says how agents start it"
                     : wanted->sexp ? "docs/sexp.md has the forms"
                                    : "docs/rpc.md has the methods");
    const struct door_options door = {
        .service = {.run = run, .launcher = options.launcher, .pool = options.pool},
        .in_fd = STDIN_FILENO,
        .out_fd = STDOUT_FILENO,
        .stop_fd = signals,
    };
    int r = wanted->mcp   ? mcp_serve(&options, &e)
            : wanted->rpc ? rpc_serve(&door, &e)
                          : sexp_serve(&door, &e);
    if (r < 0) {
        cli_complain("serve: %s", e.message);
        return EXIT_NO;
    }
    return EXIT_YES;
}

/* A policy that does not load is told now, and not only to the agent. */
static int check(const nacre_run_options *run, struct err *e)
{
    enum { ARENA_MAX = 64 << 20 };
    struct arena arena;
    struct setting setting;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int r = engine_open_setting(&arena, NULL, run, &setting, e);
    for (size_t i = 0; r == 0 && i < setting.decider.policy->warnings.count; i++)
        cli_warn("%s", setting.decider.policy->warnings.items[i].text);
    arena_release(&arena);
    return r;
}

static int serve_run(const void *options, const struct options_parsed *words)
{
    const struct serve_options *wanted = options;
    struct arena arena;
    struct err e = {0};
    if (words->count || wanted->mcp + wanted->rpc + wanted->sexp != 1) {
        cli_complain("serve: say which server: --mcp, --rpc or --sexp");
        return EXIT_WRONG_CALL;
    }
    nacre_run_options run = place_run_options(&wanted->place);
    run.umask = (int)engine_umask(); /* which stays as it is */
    run.timeout_ms = wanted->timeout_ms;
    run.wait_for_answer = wanted->wait;
    arena_init(&arena, &allocator_libc, OPTIONS_MAX);
    int status = EXIT_WRONG_CALL;
    if (decide_run_options(&arena, &wanted->policy, &wanted->call, &run, &e) < 0 ||
        check(&run, &e) < 0)
        cli_complain("serve: %s", e.message);
    else
        status = serve(wanted, &run);
    arena_release(&arena);
    return status;
}

const struct command command_serve = {
    .name = "serve",
    .summary = "the shell as a server for agents",
    .synopsis = "--mcp|--rpc|--sexp",
    .description =
        "With --mcp speaks the Model Context Protocol on standard input and output: an agent that "
        "is told to start this has the tools run_command, test_command, history, diff, undo, "
        "commit and discard, with the policy that the options say. The client has no way to choose "
        "another one, nor to approve what a person must confirm.\n"
        "\n"
        "    nacre serve --mcp --agent coder\n"
        "\n"
        "With --rpc it is a long-lived session for programs, JSON-RPC 2.0 with one message a line: "
        "configure (a mandate), exec, test, script, history, diff, undo, verify, fs_hash, reset. "
        "With --sexp the same as property lists, for Lisp kernels. docs/rpc.md and docs/sexp.md "
        "have all of it. What was asked before the end of the input is answered still.\n"
        "\n"
        "    nacre serve --rpc --workspace :memory:\n"
        "\n"
        "It ends with its standard input, and everything that it runs ends with it. docs/mcp.md "
        "has the tools, docs/agents.md how agents are told of it.\n"
        "\n"
        "Exit status: 0; 1 when it cannot serve; 2 for a wrong call or a configuration that does "
        "not load.",
    .options = serve_options,
    .options_size = sizeof(struct serve_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = serve_run,
};
