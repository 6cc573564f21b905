/*
 * Any text → facts and verdict. Whatever it is, spans lie within it, words are texts, the JSON is
 * whole, a second time gives the same, and what cannot be read is denied.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum { ARENA_MAX = 1 << 30, JSON_MAX = 256 << 20, TEXT_MOST = 1 << 16 };

static void need(bool holds)
{
    if (!holds)
        abort();
}

static const struct decider *decider(void)
{
    static struct decider d;
    static struct arena arena;
    if (!d.judge) {
        static const struct workspace workspace = {.root = "/usr", .cwd = "/usr"};
        const struct policy_request request = {.workspace = "/usr", .system_dir = "/nonexistent"};
        struct err e;
        arena_init(&arena, &allocator_libc, ARENA_MAX);
        static const struct box box;
        const struct policy *policy;
        need(policy_load(&arena, &request, &policy, &e) == 0);
        need(engine_decider(&arena, policy, NULL, &workspace, "/home/u", &box, &d, &e) == 0);
        d.host.real_path = NULL; /* the same on every machine */
        d.host.exists = d.host.is_directory = NULL;
    }
    return &d;
}

static void check_span(struct shell_span span, size_t len)
{
    need(span.from <= span.to && span.to <= len + 1);
}

static void check_act(const struct act *act, size_t len)
{
    check_span(act->span, len);
    for (size_t i = 0; i < act->word_count; i++) {
        need(act->words[i].text && act->words[i].text[act->words[i].len] == '\0');
        check_span(act->words[i].span, len);
    }
    for (const struct fact_path *p = act->paths; p; p = p->next) {
        need(!p->text || p->text[0] == '/');
        need(p->state != WORD_KNOWN || p->text);
    }
    need(act->first_operand <= act->word_count || !act->known);
}

/* The verdict as JSON; the decision. */
static enum decision judge(const uint8_t *data, size_t size, struct buf *out)
{
    struct arena arena;
    struct verdict verdict;
    const struct shell_tree *tree;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    need(engine_decide(decider(), &arena, (const char *)data, size, NULL, &verdict, &tree, &e) ==
         0);
    need(tree || verdict.decision == DECISION_DENY);
    need((verdict.reasons != NULL) == (verdict.decision != DECISION_ALLOW));
    need(verdict.rule && strlen(verdict.mandate_hash) == 64);
    for (const struct act *act = tree ? verdict.facts->acts : NULL; act; act = act->next)
        check_act(act, size);
    for (const struct verdict_reason *r = verdict.reasons; r; r = r->next) {
        need(r->rule && r->reason && r->decision >= verdict.decision);
        check_span(r->span, size);
    }
    static struct json j;
    json_init_buf(&j, out);
    verdict_write_json(&verdict, &j);
    need(json_finish(&j) == 0);
    enum decision decision = verdict.decision;
    arena_release(&arena);
    return decision;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first, second;
    if (size > TEXT_MOST)
        return 0;
    buf_init(&first, &allocator_libc, JSON_MAX);
    buf_init(&second, &allocator_libc, JSON_MAX);
    enum decision one = judge(data, size, &first), two = judge(data, size, &second);
    need(one == two && first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    buf_release(&first);
    buf_release(&second);
    return 0;
}
