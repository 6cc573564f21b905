/* See diff_stat.h. */
#include "cli/diff_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "changes/text_diff.h"

enum { WIDTH = 80, BAR_LEAST = 10, NAME_MAX_BYTES = 1 << 16 };

struct diff_stat_row {
    const struct change *change;
    const char *name, *note;
    size_t removed, added;
    uint64_t old_size, new_size;
    bool binary;
};

int diff_stat_add(struct diff_stat *s, const struct patch *p)
{
    if (s->count && s->items[s->count - 1].change == p->change) {
        /* A file that became a link is one path. */
        struct diff_stat_row *last = &s->items[s->count - 1];
        last->removed += p->removed;
        last->added += p->added;
        last->new_size = p->new_size;
        last->binary |= p->binary;
        last->note = NULL;
        return 0;
    }
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        struct diff_stat_row *more = arena_alloc_array(s->arena, room, sizeof(*more));
        if (!more)
            return -ENOMEM;
        if (s->count)
            memcpy(more, s->items, s->count * sizeof(*more));
        s->items = more;
        s->room = room;
    }
    struct buf name;
    buf_init(&name, &allocator_libc, NAME_MAX_BYTES);
    if (p->from) {
        text_append_name("", p->from, &name);
        buf_append_text(&name, " => ");
    }
    text_append_name("", p->path, &name);
    s->items[s->count] = (struct diff_stat_row){
        .change = p->change,
        .name = arena_copy(s->arena, name.data, name.len),
        .note = p->note ? arena_copy(s->arena, p->note, strlen(p->note)) : NULL,
        .removed = p->removed,
        .added = p->added,
        .old_size = p->old_mode ? p->old_size : 0,
        .new_size = p->new_mode ? p->new_size : 0,
        .binary = p->binary,
    };
    s->count++;
    buf_release(&name);
    return s->arena->failed ? -ENOMEM : 0;
}

/* Never nothing where there is something. */
static size_t scale(size_t value, size_t width, size_t most)
{
    if (!value || most <= width)
        return value;
    return 1 + value * (width - 1) / most;
}

static void append_bar(char mark, const char *colour, size_t count, struct buf *out)
{
    if (count && colour)
        buf_append_text(out, colour);
    for (size_t i = 0; i < count; i++)
        buf_append_byte(out, mark);
    if (count && colour)
        buf_append_text(out, "\033[m");
}

static void append_sum(const struct diff_stat *s, struct buf *out)
{
    size_t files = 0, added = 0, removed = 0;
    for (size_t i = 0; i < s->count; i++) {
        files += !s->items[i].note;
        added += s->items[i].added;
        removed += s->items[i].removed;
    }
    buf_append_format(out, " %zu file%s changed", files, files == 1 ? "" : "s");
    if (added)
        buf_append_format(out, ", %zu insertion%s(+)", added, added == 1 ? "" : "s");
    if (removed)
        buf_append_format(out, ", %zu deletion%s(-)", removed, removed == 1 ? "" : "s");
    buf_append_byte(out, '\n');
}

int diff_stat_append(const struct diff_stat *s, bool colour, struct buf *out)
{
    size_t name_width = 0, most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct diff_stat_row *row = &s->items[i];
        size_t len = strlen(row->name), lines = row->added + row->removed;
        name_width = len > name_width ? len : name_width;
        most = lines > most ? lines : most;
    }
    int digits = snprintf(NULL, 0, "%zu", most);
    size_t used = name_width + (size_t)digits + sizeof("  |  ");
    size_t bar = used + BAR_LEAST < WIDTH ? WIDTH - used : BAR_LEAST;
    for (size_t i = 0; i < s->count; i++) {
        const struct diff_stat_row *row = &s->items[i];
        buf_append_format(out, " %-*s | ", (int)name_width, row->name);
        if (row->note) {
            buf_append_text(out, row->note);
        } else if (row->binary) {
            buf_append_format(out, "Bin %" PRIu64 " -> %" PRIu64 " bytes", row->old_size,
                              row->new_size);
        } else {
            buf_append_format(out, "%*zu%s", digits, row->added + row->removed,
                              row->added + row->removed ? " " : "");
            append_bar('+', colour ? "\033[32m" : NULL, scale(row->added, bar, most), out);
            append_bar('-', colour ? "\033[31m" : NULL, scale(row->removed, bar, most), out);
        }
        buf_append_byte(out, '\n');
    }
    append_sum(s, out);
    return out->failed;
}
