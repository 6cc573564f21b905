/* The library as a host uses it: results, refusals, several threads, failing memory. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "nacre.h"
#include "tap.h"

static char workspace[] = "/tmp/nacre-engine.XXXXXX";
static const char *launcher;

static nacre *open_library(void)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    options.launcher = launcher;
    nacre *n = NULL;
    nacre_error error = {0};
    if (nacre_open(&options, &n, &error) < 0)
        printf("# %s\n", error.message);
    return n;
}

static nacre_result *run(nacre *n, const char *text, nacre_run_options *options)
{
    nacre_run_options defaults = NACRE_RUN_OPTIONS_INIT;
    defaults.unjudged = 1;
    nacre_result *r = NULL;
    if (!options)
        options = &defaults;
    options->workspace = workspace;
    nacre_run(n, text, strlen(text), options, &r, NULL);
    return r;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_results(nacre *n)
{
    nacre_result *r = run(n, "echo out; echo err >&2; exit 7", NULL);
    tap_number(nacre_result_status(r), NACRE_STATUS_FAILED, "a command that fails: status");
    tap_text(nacre_result_status_name(r), "failed", "its name");
    tap_number(nacre_result_exit_code(r), 7, "its exit code");
    tap_text(nacre_result_output(r, NACRE_STDOUT, NULL), "out\n", "its stdout");
    tap_text(nacre_result_output(r, NACRE_STDERR, NULL), "err\n", "its stderr");
    tap_text(nacre_result_error(r), "", "no error of ours");
    nacre_result_free(r);

    nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    options.timeout_ms = 300;
    r = run(n, "echo before; sleep 60", &options);
    tap_number(nacre_result_status(r), NACRE_STATUS_TIMEOUT, "past the time limit: status");
    tap_number(nacre_result_exit_code(r), 124, "past the time limit: exit code");
    tap_text(nacre_result_output(r, NACRE_STDOUT, NULL), "before\n", "what was printed is kept");
    tap_check(nacre_result_warning(r, 0) && !nacre_result_warning(r, 1), "one warning tells of it");
    tap_check(!nacre_result_answer(r) && !nacre_result_analysis(r, NULL),
              "it ended no task, and was no script");
    nacre_result_free(r);

    r = run(n, "kill -TERM $$", NULL);
    tap_number(nacre_result_status(r), NACRE_STATUS_KILLED, "died of a signal: status");
    tap_number(nacre_result_exit_code(r), 128 + SIGTERM, "died of a signal: exit code");
    nacre_result_free(r);

    nacre_run(n, "a\nb\0c", 5, NULL, &r, NULL);
    tap_number(nacre_result_status(r), NACRE_STATUS_DENIED, "NUL in the text: status");
    tap_number(nacre_result_exit_code(r), 126, "NUL in the text: exit code");
    tap_check(strstr(nacre_result_error(r), "line 2, column 2") != NULL, "NUL in the text: place");
    nacre_result_free(r);
}

static int refuse_output(void *user, nacre_stream stream, const char *bytes, size_t len)
{
    (void)stream, (void)bytes, (void)len;
    ++*(int *)user;
    return 1;
}

static void test_cancel(nacre *n)
{
    int calls = 0, ends[2];
    nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    options.on_output = refuse_output;
    options.user = &calls;
    nacre_result *r = run(n, "echo x; sleep 60", &options);
    tap_check(calls >= 1 && nacre_result_status(r) == NACRE_STATUS_KILLED,
              "a callback that refuses ends the run");
    nacre_result_free(r);

    options = (nacre_run_options)NACRE_RUN_OPTIONS_INIT;
    if (pipe(ends) == 0 && write(ends[1], "x", 1) == 1) {
        options.cancel_fd = ends[0];
        r = run(n, "sleep 60", &options);
        tap_number(nacre_result_status(r), NACRE_STATUS_KILLED,
                   "a readable cancel_fd ends the run");
        nacre_result_free(r);
        close(ends[0]);
        close(ends[1]);
    }
}

static int append_json(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static int fail_json(void *user, const char *bytes, size_t len)
{
    (void)user, (void)bytes, (void)len;
    return -ENOSPC;
}

static void test_json(nacre *n)
{
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 20);
    nacre_result *r = run(n, "printf '\\377\\0\"'", NULL);
    tap_number(nacre_result_write_json(r, append_json, &out), 0, "the result as JSON");
    tap_check(strstr(out.data, "\"stdout\":\"\xEF\xBF\xBD\\u0000\\\"\"") != NULL,
              "bytes that are no text are made valid");
    tap_number(nacre_result_write_json(r, fail_json, NULL), -ENOSPC, "a sink that fails is heard");
    nacre_result_free(r);
    buf_release(&out);
}

static void test_options(nacre *n)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    nacre_run_options run_options = NACRE_RUN_OPTIONS_INIT;
    nacre *other = NULL;
    nacre_result *r = NULL;
    nacre_error error = {0};
    options.version = 99;
    tap_number(nacre_open(&options, &other, &error), -EINVAL, "options of another version");
    tap_check(error.code == -EINVAL && error.message[0], "are refused with a reason");
    run_options.version = 0;
    tap_number(nacre_run(n, "", 0, &run_options, &r, &error), -EINVAL, "run options likewise");
    tap_check(!r && !other, "and nothing is returned");

    options = (nacre_options)NACRE_OPTIONS_INIT;
    options.launcher = "/nonexistent/nacre-launch";
    if (nacre_open(&options, &other, NULL) == 0) {
        r = run(other, "true", NULL);
        tap_number(nacre_result_status(r), NACRE_STATUS_ERROR, "a missing launcher is an error");
        tap_number(nacre_result_exit_code(r), 125, "of ours");
        tap_check(strstr(nacre_result_error(r), "/nonexistent/nacre-launch") != NULL,
                  "that names it");
        nacre_result_free(r);
        nacre_close(other);
    }
    nacre_close(NULL);
    nacre_result_free(NULL);
}

struct worker {
    nacre *n;
    int number, wrong;
};

static void *work(void *user)
{
    struct worker *w = user;
    for (int i = 0; i < 5; i++) {
        char text[64], should[64];
        snprintf(text, sizeof(text), "echo %d; exit %d", w->number, w->number);
        snprintf(should, sizeof(should), "%d\n", w->number);
        nacre_result *r = run(w->n, text, NULL);
        if (!r || nacre_result_exit_code(r) != w->number ||
            strcmp(nacre_result_output(r, NACRE_STDOUT, NULL), should) != 0)
            w->wrong++;
        nacre_result_free(r);
    }
    return NULL;
}

static void test_threads(nacre *n)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.n = n, .number = i + 1};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += workers[i].wrong;
    }
    tap_number(wrong, 0, "eight threads, five runs each, every result its own");
}

/* A host that lets the kernel reap its children, and one that holds low descriptors. */
static void test_hosts(nacre *n)
{
    signal(SIGCHLD, SIG_IGN);
    nacre_result *r = run(n, "exit 3", NULL);
    tap_number(nacre_result_exit_code(r), 3, "with SIGCHLD ignored the exit code is known");
    nacre_result_free(r);
    signal(SIGCHLD, SIG_DFL);

    int before = count_descriptors();
    for (int i = 0; i < 20; i++)
        nacre_result_free(run(n, "echo x", NULL));
    tap_number(count_descriptors(), before, "no descriptor is left behind");
    tap_check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and no child");
}

static int allocations_left;

static void *failing_resize(void *user, void *old, size_t size)
{
    (void)user;
    if (size && allocations_left-- == 0)
        return NULL;
    return allocator_libc.resize(NULL, old, size);
}

/* Makes the first, second, … allocation fail until a run gets through. */
static void test_memory(void)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    options.launcher = launcher;
    options.resize = failing_resize;
    int failures = 0, odd = 0;
    for (int nth = 0; nth < 200; nth++) {
        nacre *n = NULL;
        nacre_result *r = NULL;
        allocations_left = nth;
        if (nacre_open(&options, &n, NULL) < 0) {
            failures++;
            continue;
        }
        nacre_run_options run_options = NACRE_RUN_OPTIONS_INIT;
        run_options.workspace = workspace;
        int code = nacre_run(n, "echo hi", 7, &run_options, &r, NULL);
        bool whole = code == 0 && nacre_result_status(r) == NACRE_STATUS_OK;
        if (!whole)
            failures++;
        if (code == 0 && !whole && nacre_result_status(r) != NACRE_STATUS_ERROR)
            odd++;
        if (whole && strcmp(nacre_result_output(r, NACRE_STDOUT, NULL), "hi\n") != 0)
            odd++;
        nacre_result_free(r);
        nacre_close(n);
        if (whole)
            break;
    }
    tap_check(failures >= 4 && odd == 0, "each failing allocation is an error, and nothing worse");
}

int main(void)
{
    launcher = getenv("NACRE_TEST_LAUNCHER");
    if (!launcher || !mkdtemp(workspace)) {
        printf("Bail out! NACRE_TEST_LAUNCHER must name the launcher\n");
        return 1;
    }
    nacre *n = open_library();
    if (tap_check(n != NULL, "the library opens")) {
        test_results(n);
        test_cancel(n);
        test_json(n);
        test_options(n);
        test_threads(n);
        test_hosts(n);
        nacre_close(n);
        test_memory();
    }
    rmdir(workspace);
    return tap_done();
}
