/*
 * What the daemon and its clients read of each other. Any bytes behind the right beginning, and any
 * bytes at all: refused, or what was read is written and read again the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/daemon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_MAX = 64 << 20, BYTES_MAX = 64 << 20 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_request(const char *bytes, size_t len)
{
    struct arena arena;
    struct buf out;
    struct daemon_request request, again;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    buf_init(&out, &allocator_libc, BYTES_MAX);
    if (daemon_decode_request(&arena, bytes, len, &request) == 0) {
        const nacre_run_options *o = &request.options, *p = &again.options;
        require(daemon_encode_request(request.text, request.len, o, &out) == 0);
        require(daemon_decode_request(&arena, out.data, out.len, &again) == 0);
        require(again.len == request.len && memcmp(again.text, request.text, request.len) == 0);
        require(same_text(o->workspace, p->workspace) && same_text(o->cwd, p->cwd) &&
                same_text(o->agent, p->agent) && same_text(o->config, p->config));
        require(o->timeout_ms == p->timeout_ms && o->umask == p->umask && o->keep == p->keep &&
                o->unjudged == p->unjudged && o->stage == p->stage);
        for (size_t i = 0; o->environment && o->environment[i]; i++)
            require(same_text(o->environment[i], p->environment[i]));
    }
    buf_release(&out);
    arena_release(&arena);
}

static int count_bytes(void *user, const char *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)user += len;
    return 0;
}

static void check_result(nacre *n, const char *bytes, size_t len)
{
    nacre_result *r = result_new(n);
    require(r != NULL);
    if (daemon_decode_result(bytes, len, r) == 0) {
        size_t written = 0, out;
        require(nacre_result_write_json(r, count_bytes, &written) == 0);
        require(written == r->told_json_len);
        require(strlen(nacre_result_error(r)) < sizeof(r->error.message));
        require(nacre_result_output(r, NACRE_STDOUT, &out) && out <= len);
        for (size_t i = 0; nacre_result_warning(r, i); i++)
            require(strlen(nacre_result_warning(r, i)) <= len);
    }
    nacre_result_free(r);
}

/* The bytes behind what every message of this version begins with. */
static void add_beginning(struct buf *out)
{
    static const nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    uint64_t len;
    require(daemon_encode_request("", 0, &options, out) == 0);
    memcpy(&len, out->data, sizeof(len));
    out->len = sizeof(len) + len + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nacre *n;
    struct buf whole;
    require(nacre_open(NULL, &n, NULL) == 0);
    buf_init(&whole, &allocator_libc, BYTES_MAX);
    add_beginning(&whole);
    require(buf_append(&whole, data, size) == 0);
    check_request((const char *)data, size);
    check_result(n, (const char *)data, size);
    check_request(whole.data, whole.len);
    check_result(n, whole.data, whole.len);
    buf_release(&whole);
    nacre_close(n);
    return 0;
}
