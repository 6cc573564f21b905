/*
 * Questions and answers, as anybody could have written them, and configurations that a rule is
 * added to. What is read is written and read again the same, hashes to what it says, and is signed
 * by nobody. A configuration either cannot be added to, or has one more line of the same meaning.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "approve/approve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_MAX = 256 << 20, OUT_MAX = 32 << 20 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_question(struct arena *arena, const char *bytes, size_t len)
{
    struct question q, again;
    struct buf out;
    struct err e = {0};
    const char *const *patterns;
    size_t count = 0;
    question_read_head(bytes, len < QUESTION_HEAD_MAX ? len : QUESTION_HEAD_MAX, &q);
    if (question_read(arena, bytes, len, &q, &e) < 0)
        return;
    struct question bound = q;
    question_bind(&bound);
    require(memcmp(bound.binding, q.binding, sizeof(q.binding)) == 0);
    buf_init(&out, &allocator_libc, OUT_MAX);
    require(question_write(&q, &out, &e) == 0);
    require(question_read(arena, out.data, out.len, &again, &e) == 0);
    require(again.text_len == q.text_len && memcmp(again.text, q.text, q.text_len) == 0);
    require(strcmp(again.binding, q.binding) == 0);
    struct question head;
    size_t first = out.len < QUESTION_HEAD_MAX ? out.len : QUESTION_HEAD_MAX;
    require(question_read_head(out.data, first, &head) == 0);
    require(strcmp(head.id, q.id) == 0 && strcmp(head.binding, q.binding) == 0);
    require(head.kind == q.kind && head.expires_ms == q.expires_ms && head.waits == q.waits);
    buf_clear(&out);
    require(question_write_public(&q, &out, &e) == 0);
    if (rule_patterns(arena, &q, &patterns, &count, &e) == 0) {
        require(count <= 16);
        for (size_t i = 0; i < count; i++)
            require(strncmp(patterns[i], "= ", 2) == 0 && !strchr(patterns[i], '*'));
    }
    buf_release(&out);
}

static void check_answer(struct arena *arena, const char *bytes, size_t len)
{
    static const char key[] = "ada+6c4f6f04+ARxrKOaNxLHFzFMMmxuNBvuQJWkRhsYaLtUQHnyDyXoC";
    struct answer a, again;
    struct buf out;
    struct err e = {0};
    if (answer_read(arena, bytes, len, &a, &e) < 0)
        return;
    require(answer_check(&a, key, &e) < 0);
    buf_init(&out, &allocator_libc, OUT_MAX);
    require(answer_write(&a, &out, &e) == 0);
    require(answer_read(arena, out.data, out.len, &again, &e) == 0);
    require(again.yes == a.yes && again.scope == a.scope && strcmp(again.by, a.by) == 0);
    buf_release(&out);
}

/* What was there is there, around one piece that is new. */
static void check_rule(const char *bytes, size_t len)
{
    struct buf out;
    struct err e = {0};
    size_t line = 0, same = 0;
    buf_init(&out, &allocator_libc, OUT_MAX);
    if (rule_add("f", bytes, len, "= git push", &out, &line, &e) == 0) {
        require(out.len > len && line > 0);
        while (same < len && out.data[same] == bytes[same])
            same++;
        require(memcmp(out.data + out.len - (len - same), bytes + same, len - same) == 0);
    }
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (!size)
        return 0;
    const char *bytes = (const char *)data + 1;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    if (data[0] % 3 == 0)
        check_question(&arena, bytes, size - 1);
    else if (data[0] % 3 == 1)
        check_answer(&arena, bytes, size - 1);
    else
        check_rule(bytes, size - 1);
    arena_release(&arena);
    return 0;
}
