/*
 * Any bytes as a user's configuration: it is refused with its place, or it loads, and then its
 * canonical form is whole and its hash a hash.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "policy/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME "config.yaml"

static void check_refusal(const struct err *e)
{
    if (strncmp(e->message, NAME ":", strlen(NAME ":")) != 0 || strchr(e->message, '\n'))
        abort();
}

static void check_policy(const struct policy *policy)
{
    struct buf out;
    struct json j;
    buf_init(&out, &allocator_libc, 64 << 20);
    json_init_buf(&j, &out);
    policy_write_canonical(policy, &j);
    if (json_finish(&j) < 0 || !utf8_valid(out.data, out.len) || strlen(policy->hash) != 64)
        abort();
    buf_release(&out);

    /* No policy is wider than itself. */
    struct policy_text entry;
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        if (policy_key_widens(key, policy, policy, &entry))
            abort();
    }
    for (size_t i = 0; i < policy->allow.count; i++) {
        if (!policy->allow.items[i].count || policy->allow.items[i].lifted)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct policy_request nothing = {0};
    struct arena arena;
    struct err e = {0};
    const struct yaml_node *tree;
    const struct policy *policy;
    arena_init(&arena, &allocator_libc, 256 << 20);
    if (yaml_parse(&arena, NAME, (const char *)data, size, &tree, &e) < 0 ||
        policy_load_tree(&arena, &nothing, NAME, tree, &policy, &e) < 0)
        check_refusal(&e);
    else
        check_policy(policy);
    arena_release(&arena);
    return 0;
}
