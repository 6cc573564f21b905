/*
 * Any bytes as forms: what comes back can be read by the same reader, form by form, without a
 * broken one among them; where the bytes are cut changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/sexp_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static void check_form(void *user, const char *bytes, size_t len, const char *why, size_t line,
                       size_t column)
{
    struct arena arena;
    const struct sexp *form;
    size_t offset;
    (void)user, (void)line, (void)column;
    arena_init(&arena, &allocator_libc, 64 << 20);
    if (why || sexp_read(&arena, bytes, len, &form, &offset, NULL) < 0 ||
        !sexp_is(sexp_get(form, "type"), SEXP_KEYWORD, "event") || !sexp_get(form, "payload"))
        abort();
    arena_release(&arena);
}

static void serve(struct service *service, const uint8_t *data, size_t size, size_t piece,
                  struct buf *said)
{
    struct sexp_server s = {
        .door = {.service = service, .write = take, .user = said, .inline_ = true}};
    sexp_server_init(&s, 1 << 14);
    if (door_init(&s.door, NULL) < 0)
        abort();
    for (size_t at = 0; at < size; at += piece)
        sexp_server_feed(&s, (const char *)data + at, size - at < piece ? size - at : piece);
    sexp_server_finish(&s);
    door_release(&s.door);
    sexp_server_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nacre_run_options run = NACRE_RUN_OPTIONS_INIT;
    static struct service *service;
    const struct service_options options = {.run = &run, .hollow = true};
    struct sexp_split split;
    struct buf whole, pieces;
    if (!service && service_new(&options, &service, NULL) < 0)
        abort();
    buf_init(&whole, &allocator_libc, 256 << 20);
    buf_init(&pieces, &allocator_libc, 256 << 20);
    serve(service, data, size, size + 1, &whole);
    serve(service, data, size, 5, &pieces);
    if (whole.failed || whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    sexp_split_init(&split, 64 << 20);
    sexp_split_feed(&split, whole.data, whole.len, check_form, NULL);
    sexp_split_finish(&split, check_form, NULL);
    sexp_split_release(&split);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
