/* What a run changed, for programs; see engine.h. */
#include <string.h>

#include "base/utf8.h"
#include "engine/engine.h"

static void write_base64(struct json *j, const char *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf out;
    buf_init(&out, &allocator_libc, len * 2 + 16);
    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (i + k < len ? (unsigned char)bytes[i + k] : 0U);
        for (size_t k = 0; k < 4; k++) {
            char digit = digits[group >> (18 - 6 * k) & 63];
            if (i + k > len)
                digit = '=';
            buf_append_byte(&out, digit);
        }
    }
    json_bytes(j, out.data, out.len);
    buf_release(&out);
}

void changes_write_name(struct json *j, const char *name)
{
    size_t len = strlen(name);
    if (utf8_valid(name, len)) {
        json_text(j, name);
        return;
    }
    json_object_begin(j);
    json_key(j, "base64");
    write_base64(j, name, len);
    json_object_end(j);
}

const char *changes_show_path(const struct change_set *set, uint32_t root, const char *path,
                              struct arena *arena)
{
    return root == 0 ? path : arena_format(arena, "%s/%s", set->roots[root].path, path);
}

/* A created file that was deleted elsewhere is told as renamed, once. */
static bool is_told(const struct change *c, enum change_kind kind)
{
    return c->kind == kind && !c->to && !c->from;
}

void changes_write_json(const struct change_set *set, struct json *j)
{
    static const enum change_kind kinds[] = {CHANGE_CREATED, CHANGE_MODIFIED, CHANGE_DELETED,
                                             CHANGE_TOUCHED};
    struct arena arena;
    arena_init(&arena, &allocator_libc, 1 << 30);
    json_object_begin(j);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        json_key(j, change_kind_names[kinds[k]]);
        json_array_begin(j);
        for (size_t i = 0; i < set->change_count; i++) {
            const struct change *c = &set->changes[i];
            if (is_told(c, kinds[k]))
                changes_write_name(j, changes_show_path(set, c->root, c->path, &arena));
        }
        json_array_end(j);
    }
    json_key(j, "renamed");
    json_array_begin(j);
    for (size_t i = 0; i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (!c->from)
            continue;
        json_object_begin(j);
        json_key(j, "from");
        changes_write_name(j, changes_show_path(set, c->root, c->from, &arena));
        json_key(j, "to");
        changes_write_name(j, changes_show_path(set, c->root, c->path, &arena));
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "bytes");
    json_unsigned(j, set->bytes);
    json_object_end(j);
    arena_release(&arena);
}

void conflicts_write_json(const struct conflicts *conflicts, struct json *j)
{
    json_array_begin(j);
    for (size_t i = 0; i < conflicts->count; i++) {
        json_object_begin(j);
        json_key(j, "root");
        changes_write_name(j, conflicts->items[i].root);
        json_key(j, "path");
        changes_write_name(j, conflicts->items[i].path);
        json_key(j, "why");
        json_text(j, conflicts->items[i].why);
        json_object_end(j);
    }
    json_array_end(j);
}
