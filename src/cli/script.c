/* nacre script: a script of any language, contained and captured like a command. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/script.h"
#include "cli/text.h"

static const struct option script_command_options[] = {
    SCRIPT_LANGUAGE_OPTION(struct run_command_options, language),
    RUN_OPTIONS(struct run_command_options),
    {0},
};

/* Up to one byte more than the engine takes: enough to be refused for it. */
static int read_script(int fd, const char *name, struct buf *out, struct err *e)
{
    while (out->len < out->max) {
        char chunk[1 << 16];
        size_t room = out->max - out->len;
        ssize_t n = read(fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return err_errno(e, -errno, "'%s'", name);
        if (n > 0 && buf_append(out, chunk, (size_t)n) < 0)
            return err_set(e, -ENOMEM, "out of memory");
    }
    return 0;
}

/* The language that writes such names; NULL: the name does not say. */
static const char *language_of(const char *path)
{
    static const struct {
        const char *ending, *language;
    } endings[] = {
        {".py", "python"}, {".lisp", "lisp"}, {".js", "js"},   {".cjs", "js"},  {".mjs", "mjs"},
        {".sh", "bash"},   {".bash", "bash"}, {".pl", "perl"}, {".rb", "ruby"}, {".lua", "lua"},
        {".c", "c"},       {".cc", "c++"},    {".cpp", "c++"}, {".php", "php"}, {".awk", "awk"},
    };
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t tail = strlen(endings[i].ending);
        if (len > tail && strcmp(path + len - tail, endings[i].ending) == 0)
            return endings[i].language;
    }
    return NULL;
}

int script_from_words(const struct options_parsed *words, const char *language, struct buf *bytes,
                      struct run_subject *ret, struct err *e)
{
    if (!words->count)
        return err_set(e, -EINVAL, "no script; give a file, or - for standard input");
    const char *path = words->operands[0];
    ret->from_stdin = strcmp(path, "-") == 0;
    ret->language = language ? language : ret->from_stdin ? NULL : language_of(path);
    if (!ret->language)
        return err_set(e, -EINVAL, "in which language? --lang python, js, lisp, c ...");
    FD_CLEANUP int fd = ret->from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (ret->from_stdin && cli_stdin_is_closed())
        return err_set(e, -EBADF, "standard input is closed");
    if (!ret->from_stdin && fd < 0)
        return err_errno(e, -errno, "'%s'", path);
    int r = read_script(ret->from_stdin ? STDIN_FILENO : fd, path, bytes, e);
    ret->bytes = bytes->data ? bytes->data : "";
    ret->len = bytes->len;
    ret->args = words->count > 1 ? (const char *const *)words->operands + 1 : NULL;
    return r;
}

static int script_run(const void *options, const struct options_parsed *words)
{
    const struct run_command_options *wanted = options;
    struct run_subject subject = {.command = "script"};
    struct buf bytes;
    struct err e;
    int closed = cli_finish(0, EXIT_BROKEN);
    if (closed)
        return closed;
    buf_init(&bytes, &allocator_libc, TEXT_BUF_MAX);
    int status = script_from_words(words, wanted->language, &bytes, &subject, &e) < 0
                     ? run_nothing(wanted, subject.command, e.message)
                     : run_subject(wanted, &subject);
    buf_release(&bytes);
    return status;
}

const struct command command_script = {
    .name = "script",
    .summary = "run a script of any language in the sandbox",
    .synopsis = "FILE | - [ARGUMENT...]",
    .description =
        "Reads the script and runs it as `nacre run` runs a command: judged, behind the same "
        "walls, with the same limits, recorded, and undone by `nacre undo`. Inside it is a file "
        "that only this run has and nobody can change; FILE itself is only read.\n"
        "\n"
        "A script of bash is judged as a command text. Of other languages nobody knows what a "
        "script does, so that `shell.scripts` of the policy says whether it runs (by default: as "
        "any command that is not on the list), unless a list has the program that runs it. The "
        "languages are those of the policy's `languages`; `nacre policy show` has them all. "
        "Without --lang the name of FILE says which it is.\n"
        "\n"
        "    nacre script --lang python plot.py\n"
        "    nacre script --profile full-auto count.js -- --all src\n"
        "    echo '(print (+ 1 2))' | nacre script --lang lisp -\n"
        "\n"
        "The JSON has `synthesis`, `script` and, for a model, `analysis`: a text that asks it to "
        "mend the script from what it said, or to go on.\n"
        "\n"
        "Exit status: the script's own; 124 past the time limit; 125 nacre itself failed, or the "
        "language is not known; 126 refused; 127 the language is not installed; 128+N killed by "
        "signal N; 137 past a limit of CPU time, memory or disk.",
    .options = script_command_options,
    .options_size = sizeof(struct run_command_options),
    .wrong_call = EXIT_BROKEN,
    .run = script_run,
};
