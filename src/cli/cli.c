/* What the commands share; see cli.h. The program's few globals are here. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/fd.h"
#include "base/json.h"

static bool stdin_closed;
static int output_failure;

/* What is on its way to standard output: small pieces are gathered. */
static char pending[1 << 16];
static size_t pending_len;
static bool has_printed;

enum { SAID_MAX = 2048 };
static char complained[SAID_MAX]; /* what was complained about first */

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format,
                                                      va_list args)
{
    char text[SAID_MAX];
    vsnprintf(text, sizeof(text), format, args);
    if (!kind[0] && !complained[0])
        memcpy(complained, text, sizeof(text));
    struct buf line;
    struct escape escape = {.ascii_only = !cli_terminal_is_utf8()};
    buf_init(&line, &allocator_libc, 8 * sizeof(text));
    buf_append_format(&line, "nacre: %s", kind);
    /* One message is one line: a name with a line end in it cannot look like another message. */
    for (const char *s = text, *end; *s; s = end + (*end != '\0')) {
        end = s + strcspn(s, "\n");
        escape_append(&escape, s, (size_t)(end - s), &line);
        if (*end)
            buf_append_text(&line, "\\n");
    }
    escape_finish(&escape, &line);
    buf_append_byte(&line, '\n');
    fd_write_all(STDERR_FILENO, line.data, line.len);
    buf_release(&line);
}

void cli_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void cli_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warning: ", format, args);
    va_end(args);
}

static int flush(void)
{
    if (!output_failure && pending_len)
        output_failure = fd_write_all(STDOUT_FILENO, pending, pending_len);
    pending_len = 0;
    return output_failure;
}

int cli_print(const char *bytes, size_t len)
{
    has_printed = has_printed || len;
    if (len > sizeof(pending) - pending_len)
        flush();
    if (len > sizeof(pending)) {
        if (!output_failure)
            output_failure = fd_write_all(STDOUT_FILENO, bytes, len);
        return output_failure;
    }
    memcpy(pending + pending_len, bytes, len);
    pending_len += len;
    return output_failure;
}

int cli_print_json(void *ignored, const char *bytes, size_t len)
{
    (void)ignored;
    return cli_print(bytes, len);
}

void cli_print_json_error(int exit_code, const char *message)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, "error");
    json_key(&j, "exit_code");
    json_signed(&j, exit_code);
    json_key(&j, "error");
    json_text(&j, message);
    json_object_end(&j);
    cli_print("\n", 1);
    cli_finish(exit_code, exit_code);
}

void cli_print_json_complaint(const char *command, int exit_code)
{
    const size_t len = strlen(command);
    const bool named =
        strncmp(complained, command, len) == 0 && strncmp(complained + len, ": ", 2) == 0;
    if (complained[0] && !has_printed && !output_failure)
        cli_print_json_error(exit_code, named ? complained + len + 2 : complained);
}

int cli_print_buf(struct buf *text)
{
    if (text->failed && !output_failure)
        output_failure = text->failed;
    int r = cli_print(text->data, text->len);
    buf_release(text);
    return r;
}

int cli_flush(void)
{
    return flush();
}

void cli_append_escaped(struct buf *out, const char *text, size_t max)
{
    struct escape state = {.ascii_only = !cli_terminal_is_utf8()};
    size_t len = strlen(text);
    escape_append(&state, text, len < max ? len : max, out);
    escape_finish(&state, out);
    if (len > max)
        buf_append_text(out, state.ascii_only ? "..." : "…");
}

int cli_finish(int status, int broken)
{
    if (flush() == 0)
        return status;
    cli_complain("standard output: %s", strerror(-output_failure));
    return broken;
}

bool cli_terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

bool cli_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
}

/* Beside this program, as in a build directory, or where `make install` puts it. */
bool cli_find_launcher(char *path)
{
    static const char *const places[] = {"nacre-launch", "../libexec/nacre/nacre-launch"};
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0)
        return false;
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int n = snprintf(path, PATH_MAX, "%s/%s", self, places[i]);
        if (n < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

nacre *cli_open(void)
{
    char launcher[PATH_MAX];
    nacre_options options = NACRE_OPTIONS_INIT;
    if (cli_find_launcher(launcher))
        options.launcher = launcher;
    nacre *n = NULL;
    nacre_error error;
    if (nacre_open(&options, &n, &error) < 0)
        cli_complain("%s", error.message);
    return n;
}

const char *const *cli_environment(void)
{
    return (const char *const *)environ;
}

void cli_secure_stdio(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (fd == STDIN_FILENO)
            stdin_closed = true;
        if (fd == STDOUT_FILENO)
            output_failure = -EBADF;
        /* The lowest free number: just this one. Without it a later file would take its place. */
        if (open("/dev/null", O_RDWR) != fd) /* NOLINT(android-cloexec-open): as stdio is */
            _exit(EXIT_BROKEN);
    }
}

bool cli_stdin_is_closed(void)
{
    return stdin_closed;
}
