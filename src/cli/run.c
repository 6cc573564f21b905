/* nacre run: a command text, contained and captured. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/background.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/phases_show.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/tty.h"
#include "serve/daemon.h"

enum { OPTIONS_MAX = 1 << 20 };

static const struct option run_command_options[] = {
    RUN_OPTIONS(struct run_command_options),
    {.name = "session",
     .letter = 's',
     .kind = OPTION_TEXT,
     .value_name = "NAME",
     .help = "go on with the directory, variables, functions and settings that the last run of "
             "this session left",
     .offset = offsetof(struct run_command_options, session)},
    {0},
};

/* --- signals: the person's wish to stop --------------------------------------------------- */

static volatile sig_atomic_t signal_seen;
static int signal_event = -1;

static void note_signal(int number)
{
    int saved = errno;
    signal_seen = number;
    const uint64_t one = 1;
    ssize_t ignored = write(signal_event, &one, sizeof(one));
    (void)ignored;
    errno = saved;
}

static int watch_signals(void)
{
    signal_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (signal_event < 0)
        return -errno;
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        struct sigaction action, before;
        if (sigaction(watched[i], NULL, &before) < 0)
            return -errno;
        if (before.sa_handler == SIG_IGN)
            continue; /* nohup */
        action = (struct sigaction){.sa_handler = note_signal, .sa_flags = 0};
        sigemptyset(&action.sa_mask);
        if (sigaction(watched[i], &action, NULL) < 0)
            return -errno;
    }
    return 0;
}

/* So that a shell's loop around us ends as well: it looks at how we died. */
static void die_of_signal(void)
{
    signal(signal_seen, SIG_DFL);
    raise(signal_seen);
}

static bool signal_is_deadly(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

/* --- live output -------------------------------------------------------------------------- */

/* What the library's calls back need. */
struct live {
    struct show shows[2];
    const struct run_command_options *wanted;
    struct background *background; /* NULL: it is none */
    const struct run_subject *subject;
    bool asked;
};

static int show_live(void *user, nacre_stream stream, const char *bytes, size_t len)
{
    struct live *live = user;
    if (live->background)
        return background_output(live->background, stream, bytes, len);
    /* It may be seen to print before it is seen to begin. */
    if (live->shows[0].draws)
        tty_begin();
    return show_bytes(&live->shows[stream == NACRE_STDERR], bytes, len, false);
}

static int tell_start(void *user, const char *id)
{
    const struct live *live = user;
    if (live->background)
        return background_start(live->background, id);
    tty_begin();
    return 0;
}

/* Whoever waits is told for what. */
static int tell_pending(void *user, const char *id)
{
    const struct live *live = user;
    if (live->wanted->wait && !live->background)
        cli_complain("waiting for an answer: `nacre approve %.8s` or `nacre deny %.8s`", id, id);
    return 0;
}

static struct confirm_text text_to_confirm(const struct run_command_options *wanted,
                                           const struct run_subject *subject)
{
    return (struct confirm_text){.bytes = subject->bytes,
                                 .len = subject->len,
                                 .session = wanted->session,
                                 .language = subject->language,
                                 .args = subject->args};
}

static int ask_person(void *user, const char *verdict_json, size_t len)
{
    struct live *live = user;
    (void)verdict_json;
    (void)len;
    live->asked = true;
    const struct confirm_text text = text_to_confirm(live->wanted, live->subject);
    return confirm_ask(&live->wanted->place, &live->wanted->policy, &live->wanted->call, &text);
}

/* What the live view could not have: the tail, and the mark of what lies between. */
static int show_rest(struct show *s, const nacre_result *r, nacre_stream stream)
{
    size_t len;
    const char *text = nacre_result_output(r, stream, &len);
    /* What was drawn between is gone, and the rest would be drawn over what is there. */
    if (s->draws && s->escape && len > s->bytes)
        len = s->bytes;
    if (!s->failure)
        show_bytes(s, text + s->bytes, len - s->bytes, true);
    return s->failure == -EINTR ? 0 : s->failure;
}

/* --- the command -------------------------------------------------------------------------- */

static nacre_keep keep_named(const char *name)
{
    if (name && strcmp(name, "head") == 0)
        return NACRE_KEEP_HEAD;
    return name && strcmp(name, "tail") == 0 ? NACRE_KEEP_TAIL : NACRE_KEEP_BOTH;
}

/* Whether the policy has a text of its own for a refusal, which then stands for all others. */
static bool has_message(const nacre_result *r)
{
    size_t out, err;
    nacre_result_output(r, NACRE_STDOUT, &out);
    nacre_result_output(r, NACRE_STDERR, &err);
    return !nacre_result_ran(r) && (out || err);
}

/* Prints what is left to say of a result in text mode. */
static int finish_text(const nacre_result *r, struct show shows[2], int status)
{
    int failure = show_rest(&shows[0], r, NACRE_STDOUT);
    show_rest(&shows[1], r, NACRE_STDERR);
    for (int i = 0; i < 2 && has_message(r); i++) {
        if (shows[i].bytes && !shows[i].failure)
            show_bytes(&shows[i], "\n", 1, true);
    }
    if (failure == -EPIPE && signal_is_deadly(SIGPIPE)) {
        signal_seen = SIGPIPE; /* the reader has left: we go as other programs do, but not before */
        return 128 + SIGPIPE;
    }
    if (failure) {
        cli_complain("standard output: %s", strerror(-failure));
        return EXIT_BROKEN;
    }
    const char *warning;
    for (size_t i = 0; (warning = nacre_result_warning(r, i)); i++)
        cli_warn("%s", warning);
    return status;
}

static int finish_whole(const nacre_result *r, enum format form, int status)
{
    if (form != FORMAT_JSON) {
        form_print_result(r, form);
        return cli_finish(status, EXIT_BROKEN);
    }
    int failure = nacre_result_write_json(r, cli_print_json, NULL);
    if (failure == 0)
        cli_print("\n", 1);
    return cli_finish(status, EXIT_BROKEN);
}

/* A run whose changes are held, or were thrown away, keeps its own exit code in the result. */
static int exit_status(const nacre_result *r)
{
    nacre_status status = nacre_result_status(r);
    bool refused = status == NACRE_STATUS_DENIED || status == NACRE_STATUS_NEEDS_CONFIRMATION;
    return refused && nacre_result_ran(r) ? EXIT_REFUSED : nacre_result_exit_code(r);
}

/* Why it does not run, with the place in the text; or why nothing came of it. */
static void show_refusal(const struct run_command_options *wanted, const nacre_result *r,
                         const struct run_subject *subject)
{
    nacre_status status = nacre_result_status(r);
    bool asks = status == NACRE_STATUS_NEEDS_CONFIRMATION;
    const struct confirm_text text = text_to_confirm(wanted, subject);
    cli_complain("%s%s", status == NACRE_STATUS_DENIED && !nacre_result_ran(r) ? "refused: " : "",
                 nacre_result_error(r));
    if ((status == NACRE_STATUS_DENIED || asks) && !nacre_result_ran(r))
        confirm_show(&wanted->place, &wanted->policy, &wanted->call, &text);
}

/* A daemon has the walls ready, if there is one; else nothing has happened. */
static bool run_by_daemon(nacre *n, const char *text, size_t len, const nacre_run_options *o,
                          nacre_result **ret)
{
    enum { PATHS_MAX = 1 << 16 };
    struct arena arena;
    struct err e;
    if (!daemon_can_run(o))
        return false;
    arena_init(&arena, &allocator_libc, PATHS_MAX);
    const char *home = engine_canonical_home(&arena, engine_home(o));
    nacre_run_options known = *o;
    known.state_dir = engine_state_dir(&arena, o, home);
    int fd = known.state_dir ? daemon_connect(known.state_dir, &e) : -1;
    int r = fd < 0 ? -ENOENT : daemon_run(fd, n, text, len, &known, ret, &e);
    arena_release(&arena);
    if (r < 0 && r != -ENOENT) {
        *ret = result_new(n);
        if (*ret)
            (*ret)->error = e;
    }
    return r != -ENOENT && *ret;
}

static int run_text(nacre *n, const struct run_subject *subject, const nacre_run_options *options,
                    const struct run_command_options *wanted, struct background *background,
                    bool whole)
{
    nacre_run_options with_calls = *options, *o = &with_calls;
    const char *text = subject->bytes;
    size_t len = subject->len;
    struct live live = {.wanted = wanted, .background = background, .subject = subject};
    struct show *shows = live.shows;
    show_init(&shows[0], STDOUT_FILENO, signal_event);
    show_init(&shows[1], STDERR_FILENO, signal_event);
    o->user = &live;
    if (!whole || background)
        o->on_output = show_live;
    if (!whole && !wanted->wait && confirm_is_possible())
        o->on_confirm = ask_person;
    if (wanted->wait) {
        o->wait_for_answer = 1;
        o->on_pending = tell_pending;
    }
    /* A person's keys are the command's as soon as nobody is asked any more. */
    if (background || (wanted->tty && !whole))
        o->on_start = tell_start;
    shows[0].draws = wanted->tty;
    nacre_result *r = NULL;
    nacre_error error;
    if (!run_by_daemon(n, text, len, o, &r) && nacre_run(n, text, len, o, &r, &error) < 0) {
        cli_complain("%s: %s", subject->command, error.message);
        return EXIT_BROKEN;
    }
    tty_end();
    int status = signal_seen ? 128 + signal_seen : exit_status(r);
    if (background && background->started) {
        /* The ledger has it all, and nobody sees what is printed. */
        nacre_result_free(r);
        return status;
    }
    if (nacre_result_error(r)[0] && live.asked)
        cli_complain("not confirmed, and not run");
    else if (nacre_result_error(r)[0] && !whole && !has_message(r))
        show_refusal(wanted, r, subject);
    else if (nacre_result_error(r)[0] && whole)
        cli_complain("%s%s", nacre_result_status(r) == NACRE_STATUS_DENIED ? "refused: " : "",
                     nacre_result_error(r));
    if (wanted->trace && !whole)
        phases_show(r);
    if (wanted->trace_file && phases_save(r, wanted->trace_file) < 0)
        status = EXIT_BROKEN;
    status = whole ? finish_whole(r, form_of(wanted->json, wanted->format), status)
                   : finish_text(r, shows, status);
    nacre_result_free(r);
    return status;
}

static enum format form_wanted(const struct run_command_options *wanted)
{
    return form_of(wanted->json, wanted->format);
}

int run_nothing(const struct run_command_options *wanted, const char *command, const char *message)
{
    cli_complain("%s: %s", command, message);
    if (form_wanted(wanted) == FORMAT_JSON)
        cli_print_json_error(EXIT_BROKEN, message);
    return EXIT_BROKEN;
}

int run_subject(const struct run_command_options *wanted, const struct run_subject *subject)
{
    bool whole = form_wanted(wanted) != FORMAT_TEXT;
    nacre_run_options o = place_run_options(&wanted->place);
    o.timeout_ms = wanted->timeout_ms;
    o.keep = keep_named(wanted->keep);
    o.stage = wanted->stage;
    o.trace = wanted->trace;
    o.deterministic = wanted->deterministic;
    o.session = wanted->session;
    o.language = subject->language;
    o.script_args = subject->args;
    o.input_timeout_ms = wanted->input_timeout_ms;
    struct err e;
    struct arena arena;
    struct background background;
    arena_init(&arena, &allocator_libc, OPTIONS_MAX);
    int status = EXIT_BROKEN;
    int failure;
    if (decide_run_options(&arena, &wanted->policy, &wanted->call, &o, &e) < 0) {
        status = run_nothing(wanted, subject->command, e.message);
    } else if (wanted->background && !background_fork(&background, whole, &status)) {
        /* It is under way, or the child has said why not. */
    } else if ((failure = watch_signals()) < 0) {
        cli_complain("%s: cannot watch signals: %s", subject->command, strerror(-failure));
    } else {
        o.cancel_fd = signal_event;
        bool ready = true;
        if (wanted->background)
            ready = background_prepare(&background, signal_event, &o);
        else if (!subject->from_stdin && !cli_stdin_is_closed() &&
                 (!isatty(STDIN_FILENO) || (wanted->tty && !whole)))
            o.stdin_fd = STDIN_FILENO;
        o.terminal = wanted->tty;
        if (wanted->tty && !wanted->background && !whole)
            o.terminal_size_fd = tty_watch_size();
        nacre *n = ready ? cli_open() : NULL;
        if (n)
            status =
                run_text(n, subject, &o, wanted, wanted->background ? &background : NULL, whole);
        nacre_close(n);
        if (wanted->background)
            background_end(&background);
    }
    arena_release(&arena);
    if (signal_seen)
        die_of_signal();
    return status;
}

static int run_run(const void *options, const struct options_parsed *words)
{
    const struct run_command_options *wanted = options;
    struct run_subject subject = {.command = "run"};
    struct buf text;
    struct err e;
    /* Asked before the command runs: what it prints would be lost. */
    int closed = cli_finish(0, EXIT_BROKEN);
    if (closed)
        return closed;
    buf_init(&text, &allocator_libc, TEXT_BUF_MAX);
    int status;
    if (text_from_words(words, &text, &subject.from_stdin, &e) < 0) {
        status = run_nothing(wanted, subject.command, e.message);
    } else {
        subject.bytes = text.data;
        subject.len = text.len;
        status = run_subject(wanted, &subject);
    }
    buf_release(&text);
    return status;
}

const struct command command_run = {
    .name = "run",
    .summary = "run a command text in the sandbox",
    .synopsis = "'TEXT' | -- ARGV... | -",
    .description =
        "Judges TEXT by the policy (`nacre test` shows the verdict alone), and runs it if it is "
        "allowed, or if it must be confirmed and a person says yes: at the terminal, or with "
        "`nacre "
        "approve` from another one, after which the same call goes through; until then it is "
        "refused.\n"
        "\n"
        "It runs with bash in a sandbox of its own: new user, mount, pid, network, ipc, uts and "
        "cgroup namespaces; the system read-only; private /tmp and home; the workspace writable; "
        "no network but loopback. Standard input is passed on when it is not a terminal. When the "
        "command ends, or its time is over, everything that it started is killed.\n"
        "\n"
        "Separate words may be given behind --, and `-` reads the text from standard input.\n"
        "\n"
        "    nacre run 'git status'\n"
        "    nacre run --agent coder 'make test'\n"
        "    nacre run --json --timeout 30s 'npm test | tail -20'\n"
        "    nacre run -- grep -r 'a b' src\n"
        "\n"
        "Exit status: the command's own; 124 past the time limit; 125 nacre itself failed; 126 "
        "refused; 127 command not found; 128+N killed by signal N; 137 past a limit of CPU time, "
        "memory or disk.",
    .options = run_command_options,
    .options_size = sizeof(struct run_command_options),
    .wrong_call = EXIT_BROKEN,
    .run = run_run,
};
