/*
 * Entries, both ways. Any bytes to the reader: refused, or what was read is written and read again
 * the same. And any bytes as the texts of an entry: one line of plain UTF-8 that fits, and that
 * gives the texts back, or a head of those that were cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "history/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_MAX = 256 << 20, WORDS_MAX = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(const struct buf *line)
{
    require(line->len <= ENTRY_BYTES_MAX && utf8_valid(line->data, line->len));
    for (size_t i = 0; i < line->len; i++)
        require((unsigned char)line->data[i] >= ' ' && line->data[i] != 0x7F);
}

static void check_head(const struct entry_text *head, const struct entry_text *whole)
{
    require(head->bytes != NULL && head->len <= whole->len);
    require(memcmp(head->bytes, whole->bytes, head->len) == 0);
    require(head->whole_len == (head->len < whole->len ? whole->len : 0));
}

static void check_start(const char *head, const char *whole)
{
    require(!whole[0] ? !head || !head[0] : head && strncmp(head, whole, strlen(head)) == 0);
}

/* Any bytes as an entry. */
static void check_reader(struct arena *arena, const uint8_t *data, size_t size)
{
    struct entry entry, again;
    struct buf first, second;
    struct err e;
    if (entry_read(arena, data, size, &entry, &e) < 0)
        return;
    buf_init(&first, &allocator_libc, 1 << 20);
    buf_init(&second, &allocator_libc, 1 << 20);
    require(entry_write(&entry, &first, &e) == 0);
    check_line(&first);
    require(entry_read(arena, first.data, first.len, &again, &e) == 0);
    require(entry_write(&again, &second, &e) == 0);
    check_line(&second);
    buf_release(&first);
    buf_release(&second);
}

/* The bytes cut into words at each NUL. */
struct words {
    const char *word[WORDS_MAX];
    size_t count;
};

static void split(struct arena *arena, const uint8_t *data, size_t size, struct words *ret)
{
    const char *copy = arena_copy(arena, (const char *)data, size);
    require(copy != NULL);
    for (size_t at = 0; at <= size && ret->count < WORDS_MAX; at += strlen(copy + at) + 1)
        ret->word[ret->count++] = copy + at;
}

static void check_writer(struct arena *arena, const uint8_t *data, size_t size)
{
    struct words words = {0};
    struct entry_change changes[WORDS_MAX] = {0};
    struct entry_reason reasons[WORDS_MAX];
    struct entry back;
    struct buf line;
    struct err e;
    split(arena, data, size, &words);
    for (size_t i = 0; i < words.count; i++) {
        changes[i] = (struct entry_change){.kind = (enum entry_change_kind)(i % ENTRY_CHANGE_KINDS),
                                           .path = words.word[i],
                                           .to = words.word[words.count - 1 - i]};
        reasons[i] = (struct entry_reason){words.word[i], words.word[words.count - 1 - i]};
    }
    const struct entry_program program = {
        .argv = words.word, .argc = words.count, .exit_code = (int)(size & 255)};
    const struct entry entry = {
        .kind = (enum entry_kind)(ENTRY_NONE + 1 + size % (ENTRY_KINDS - 1)),
        .time = words.word[0],
        .agent = words.word[words.count / 2],
        .detail = words.word[words.count - 1],
        .command = {.bytes = (const char *)data, .len = size},
        .reasons = reasons,
        .reason_count = words.count,
        .executed = &program,
        .executed_count = 1,
        .changes = {.known = true, .items = changes, .count = words.count},
        .output = {.known = true, .frames = {.bytes = (const char *)data, .len = size}},
        .warnings = words.word,
        .warning_count = words.count,
    };
    buf_init(&line, &allocator_libc, 1 << 20);
    require(entry_write(&entry, &line, &e) == 0);
    check_line(&line);
    require(entry_read(arena, line.data, line.len, &back, &e) == 0);
    require(back.kind == entry.kind);
    check_head(&back.command, &entry.command);
    check_head(&back.output.frames, &entry.output.frames);
    require(back.output.frames.len >= (size < ENTRY_FRAMES_MAX ? size : ENTRY_FRAMES_MAX - 3));
    check_start(back.time, entry.time);
    check_start(back.agent, entry.agent);
    check_start(back.detail, entry.detail);
    require(back.warning_total == (back.warning_count < words.count ? words.count : 0));
    for (size_t i = 0; i < back.warning_count; i++)
        check_start(back.warnings[i], words.word[i]);
    for (size_t i = 0; i < back.reason_count; i++)
        check_start(back.reasons[i].reason, reasons[i].reason);
    require(back.executed_count <= 1);
    for (size_t i = 0; back.executed_count && i < back.executed[0].argc; i++)
        check_start(back.executed[0].argv[i], words.word[i]);
    /* Names come back whole; the lists are by kind, in the order of the kinds. */
    require((back.changes.hash[0] != '\0') == (back.changes.count < words.count));
    size_t at = 0;
    for (enum entry_change_kind kind = 0; kind < ENTRY_CHANGE_KINDS; kind++) {
        for (size_t i = kind;
             i < words.count && at < back.changes.count && back.changes.items[at].kind == kind;
             i += ENTRY_CHANGE_KINDS, at++)
            require(strcmp(back.changes.items[at].path, changes[i].path) == 0);
    }
    require(at == back.changes.count);
    buf_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    check_reader(&arena, data, size);
    check_writer(&arena, data, size);
    arena_release(&arena);
    return 0;
}
