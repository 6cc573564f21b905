/* Who is asked, and whose word counts, as a host of the library meets it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "engine/engine.h"
#include "tap.h"

static char base[] = "/tmp/nacre-asking.XXXXXX";
static char workspace[64], state[64], config[64];

struct host {
    int said, asked, pending, withdraw;
    char id[UUID_TEXT + 1];
};

static int confirm(void *user, const char *verdict_json, size_t len)
{
    struct host *h = user;
    (void)verdict_json, (void)len;
    h->asked++;
    return h->said;
}

static int pend(void *user, const char *id)
{
    struct host *h = user;
    h->pending++;
    snprintf(h->id, sizeof(h->id), "%s", id);
    return h->withdraw;
}

static void write_config(const char *text)
{
    int fd = open(config, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
        abort();
    close(fd);
}

static nacre_status run(nacre *n, struct host *h, const char *text, int by, int waits)
{
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT;
    nacre_result *r = NULL;
    o.workspace = workspace;
    o.state_dir = state;
    o.config = config;
    o.user = h;
    o.on_confirm = by >= 0 ? confirm : NULL;
    o.confirm_by = by > 0 ? NACRE_CONFIRM_CLIENT : NACRE_CONFIRM_PERSON;
    o.on_pending = pend;
    o.wait_for_answer = waits;
    if (nacre_run(n, text, strlen(text), &o, &r, NULL) < 0)
        return NACRE_STATUS_ERROR;
    nacre_status status = nacre_result_status(r);
    if (status == NACRE_STATUS_ERROR)
        printf("# %s\n", nacre_result_error(r));
    nacre_result_free(r);
    return status;
}

static size_t count_open(void)
{
    struct arena arena;
    struct question *items;
    struct err e;
    size_t count = 0, bad;
    arena_init(&arena, &allocator_libc, 64 << 20);
    approve_list(&arena, state, &items, &count, &bad, &e);
    arena_release(&arena);
    return count;
}

static void test_person(nacre *n)
{
    struct host h = {.said = 1};
    write_config("extends: dev\n");
    tap_number(run(n, &h, "python3 -c 1", 0, 0), NACRE_STATUS_OK, "a person says yes");
    tap_check(h.asked == 1 && h.pending == 0, "and is asked once");
    h = (struct host){.said = 0};
    tap_number(run(n, &h, "python3 -c 1", 0, 0), NACRE_STATUS_NEEDS_CONFIRMATION, "or no");
    tap_check(h.asked == 1 && h.pending == 0 && count_open() == 0, "and nothing is left to ask");
    h = (struct host){.said = -1};
    tap_number(run(n, &h, "python3 -c 2", 0, 0), NACRE_STATUS_NEEDS_CONFIRMATION,
               "nobody is there after all");
    tap_check(h.asked == 1 && h.pending == 1 && count_open() == 1, "the question is open");
    char id[UUID_TEXT + 1];
    memcpy(id, h.id, sizeof(id));
    h = (struct host){.said = -1};
    run(n, &h, "python3 -c 2", -1, 0);
    tap_check(h.pending == 1 && count_open() == 1, "it is asked once");
    tap_text(h.id, id, "by the same id");
    h = (struct host){.withdraw = 1};
    tap_number(run(n, &h, "python3 -c 3", -1, 0), NACRE_STATUS_NEEDS_CONFIRMATION, "withdrawn");
    tap_check(h.pending == 1 && count_open() == 1, "by the host that is told of it");
}

static void test_client(nacre *n)
{
    struct host h = {.said = 1};
    tap_number(run(n, &h, "python3 -c 4", 1, 0), NACRE_STATUS_NEEDS_CONFIRMATION,
               "a client's word does not count");
    tap_check(h.asked == 0 && h.pending == 1, "and is not asked for");
    write_config("approvals: {elicit: true}\n");
    h = (struct host){.said = 1};
    tap_number(run(n, &h, "python3 -c 4", 1, 0), NACRE_STATUS_OK, "unless the policy says so");
    tap_check(h.asked == 1 && h.pending == 0, "then it is");
    h = (struct host){.said = 0};
    tap_number(run(n, &h, "python3 -c 4", 1, 0), NACRE_STATUS_NEEDS_CONFIRMATION, "its no, too");
    write_config("approvals: {elicit: true, key: "
                 "ada+ab32962a+AV8v8IvdKvKZtNOcVXzlk1TY8ryWNfSNm49tH6tPZsDk}\n");
    for (int by = 0; by < 2; by++) {
        h = (struct host){.said = 1};
        tap_number(run(n, &h, "python3 -c 5", by, 0), NACRE_STATUS_NEEDS_CONFIRMATION,
                   "where answers are signed, nobody here is asked");
        tap_check(h.asked == 0 && h.pending == 1, "neither a person nor a client");
    }
}

static void test_waiting(nacre *n)
{
    struct host h = {0};
    size_t before = count_open();
    write_config("approvals: {timeout: 200ms}\n");
    tap_number(run(n, &h, "python3 -c 6", -1, 1), NACRE_STATUS_DENIED, "too late is no");
    tap_check(h.pending == 1 && count_open() <= before, "and its question is gone");
    h = (struct host){.withdraw = 1};
    tap_number(run(n, &h, "python3 -c 6", -1, 1), NACRE_STATUS_NEEDS_CONFIRMATION,
               "a host that does not wait");

    int ends[2];
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT;
    nacre_result *r = NULL;
    write_config("approvals: {timeout: 10m}\n");
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    close(ends[1]);
    o.workspace = workspace;
    o.state_dir = state;
    o.config = config;
    o.wait_for_answer = 1;
    o.cancel_fd = ends[0];
    int code = nacre_run(n, "python3 -c 7", 12, &o, &r, NULL);
    tap_check(code == 0 && nacre_result_status(r) == NACRE_STATUS_NEEDS_CONFIRMATION,
              "cancelled while it waits");
    tap_check(count_open() <= before, "the question is withdrawn");
    nacre_result_free(r);
    close(ends[0]);
}

int main(void)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    nacre *n = NULL;
    options.launcher = getenv("NACRE_TEST_LAUNCHER");
    if (!options.launcher || !mkdtemp(base)) {
        printf("Bail out! NACRE_TEST_LAUNCHER must name the launcher\n");
        return 1;
    }
    snprintf(workspace, sizeof(workspace), "%s/ws", base);
    snprintf(state, sizeof(state), "%s/state", base);
    snprintf(config, sizeof(config), "%s/config.yaml", base);
    if (mkdir(workspace, 0700) < 0 || nacre_open(&options, &n, NULL) < 0)
        return 1;
    test_person(n);
    test_client(n);
    test_waiting(n);
    nacre_close(n);
    beneath_remove(AT_FDCWD, base);
    return tap_done();
}
