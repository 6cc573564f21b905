/*
 * Any bytes as what a client of JSON-RPC sends: each line that comes back is a message or a batch
 * of them, where the bytes are cut changes nothing, and nothing is left over.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_line(void *user, const char *line, size_t len)
{
    return buf_append(user, line, len);
}

static void check_message(const json_t *value)
{
    const char *version = json_string_value(json_object_get(value, "jsonrpc"));
    if (!version || strcmp(version, "2.0") != 0 || !json_object_get(value, "id") ||
        !json_object_get(value, "result") == !json_object_get(value, "error"))
        abort();
}

static void check_lines(const struct buf *said)
{
    const char *at = said->data, *end = at + said->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        json_t *value = stop ? json_loadb(at, (size_t)(stop - at),
                                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                             : NULL;
        if (!value)
            abort();
        for (size_t i = 0; i < json_array_size(value); i++)
            check_message(json_array_get(value, i));
        if (!json_is_array(value))
            check_message(value);
        json_decref(value);
        at = stop + 1;
    }
}

static void serve(struct service *service, const uint8_t *data, size_t size, size_t piece,
                  struct buf *said)
{
    struct rpc r = {
        .door = {.service = service, .write = take_line, .user = said, .inline_ = true}};
    rpc_init(&r, 1 << 14);
    if (door_init(&r.door, NULL) < 0)
        abort();
    for (size_t at = 0; at < size; at += piece)
        rpc_feed(&r, (const char *)data + at, size - at < piece ? size - at : piece);
    rpc_feed(&r, "\n", 1);
    door_release(&r.door);
    rpc_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nacre_run_options run = NACRE_RUN_OPTIONS_INIT;
    static struct service *service;
    const struct service_options options = {.run = &run, .hollow = true};
    struct buf whole, pieces;
    if (!service && service_new(&options, &service, NULL) < 0)
        abort();
    buf_init(&whole, &allocator_libc, 256 << 20);
    buf_init(&pieces, &allocator_libc, 256 << 20);
    serve(service, data, size, size + 1, &whole);
    serve(service, data, size, 7, &pieces);
    if (whole.failed || whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    check_lines(&whole);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
