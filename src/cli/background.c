/* See background.h. */
#include "cli/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/kept.h"

/* --- the parent ------------------------------------------------------------------------------ */

static int print_started(const char *id, bool json)
{
    struct json j;
    if (json) {
        json_init(&j, cli_print_json, NULL);
        json_object_begin(&j);
        json_key(&j, "correlation_id");
        json_text(&j, id);
        json_key(&j, "status");
        json_text(&j, "running");
        json_object_end(&j);
    } else {
        cli_print(id, strlen(id));
    }
    cli_print("\n", 1);
    if (!json && isatty(STDERR_FILENO))
        cli_complain("it runs: `nacre logs %.8s` shows its output, `nacre wait %.8s` waits for it, "
                     "`nacre kill %.8s` ends it",
                     id, id, id);
    return cli_finish(EXIT_YES, EXIT_BROKEN);
}

/* The id, or how the child ended without one. */
static int hear_child(pid_t child, int told, bool json)
{
    char id[UUID_TEXT + 1] = "";
    size_t len = 0;
    for (ssize_t n = 1; len < UUID_TEXT && n != 0;) {
        n = read(told, id + len, UUID_TEXT - len);
        if (n < 0 && errno != EINTR)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    if (len == UUID_TEXT)
        return print_started(id, json);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return EXIT_BROKEN;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- the child ------------------------------------------------------------------------------- */

/*
 * A session of its own, so that no terminal ends it; descriptors of the caller's but 0 to 2 are
 * closed, for somebody may wait for their end. Until the start it dies with its parent.
 */
static bool become_child(struct background *b, pid_t parent)
{
    enum { LEAST = 3 };
    int kept = fcntl(b->told, F_DUPFD_CLOEXEC, LEAST);
    if (kept != LEAST && kept >= 0) {
        int moved = dup3(kept, LEAST, O_CLOEXEC);
        kept = moved;
    }
    b->told = kept;
    if (kept != LEAST || close_range(LEAST + 1, ~0U, 0) < 0)
        return false;
    return setsid() >= 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent;
}

bool background_fork(struct background *b, bool json, int *ret_status)
{
    int ends[2];
    *b = (struct background){.told = -1, .input = -1, .options = {.input_fd = -1}};
    b->options.state = kept_state_dir();
    *ret_status = EXIT_BROKEN;
    if (!b->options.state) {
        cli_complain("run: HOME is not set, so there is no state directory for a job");
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) < 0) {
        cli_complain("run: cannot start a job: %s", strerror(errno));
        return false;
    }
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        b->told = ends[1];
        if (become_child(b, parent))
            return true;
        cli_complain("run: cannot start a job: %s", strerror(errno));
        _exit(EXIT_BROKEN);
    }
    close(ends[1]);
    if (child < 0)
        cli_complain("run: cannot start a job: %s", strerror(errno));
    else
        *ret_status = hear_child(child, ends[0], json);
    close(ends[0]);
    return false;
}

bool background_prepare(struct background *b, int cancel_fd, nacre_run_options *o)
{
    int ends[2];
    struct err e = {0};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        cli_complain("run: cannot start a job: %s", strerror(errno));
        return false;
    }
    b->input = ends[0];
    b->options.input_fd = ends[1];
    b->options.cancel_fd = cancel_fd;
    b->options.output_bytes = NACRE_OUTPUT_DEFAULT;
    if (job_new(&b->options, &b->job, &e) < 0) {
        cli_complain("run: %s", e.message);
        return false;
    }
    b->options.input_fd = -1; /* the job's */
    o->stdin_fd = b->input;
    o->state_dir = b->options.state;
    o->all_output = 1;
    o->shared = 1;
    return true;
}

/* Nothing of the caller's is held on to. */
static int let_go(void)
{
    FD_CLEANUP int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (null < 0 || dup2(null, fd) < 0)
            return -errno;
    }
    return 0;
}

int background_start(struct background *b, const char *id)
{
    struct err e = {0};
    int r = job_begin(b->job, id, &e);
    if (r < 0) {
        cli_complain("run: %s", e.message);
        return r;
    }
    /* From here on it does not die with its parent, who leaves when it is told; but one who is
     * gone already would leave a job that nobody knows of. */
    prctl(PR_SET_PDEATHSIG, 0);
    ssize_t n = fd_write_quietly(b->told, id, UUID_TEXT);
    b->started = n == UUID_TEXT;
    fd_close(&b->told);
    return b->started ? let_go() : -EPIPE;
}

int background_output(struct background *b, nacre_stream stream, const char *bytes, size_t len)
{
    job_add_output(b->job, stream == NACRE_STDERR ? 2 : 1, bytes, len);
    return 0;
}

void background_end(struct background *b)
{
    job_end(b->job);
    b->job = NULL;
    fd_close(&b->input);
    fd_close(&b->options.input_fd);
    fd_close(&b->told);
}
