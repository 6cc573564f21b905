/*
 * The canonical form of a policy: JSON with sorted keys, every field that a verdict or a run
 * depends on, lists in their order. No places and no directories of the machine, so that the same
 * rules have the same hash everywhere.
 */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "policy/load.h"

static void write_agent(const struct policy *policy, struct json *out)
{
    json_text(out, policy->agent);
}

/* Who gave a list means nothing for what it does: with one it is that one, with two both. */
static void write_call(const struct policy *policy, struct json *out)
{
    const bool both = policy->call_mandate && policy->session_mandate;
    if (both)
        json_array_begin(out);
    if (policy->call_mandate)
        policy_patterns_write(&policy->call_allow, out);
    if (policy->session_mandate)
        policy_patterns_write(&policy->session_allow, out);
    if (both)
        json_array_end(out);
    if (!policy_has_mandate(policy))
        json_nothing(out);
}

static void write_commands(const struct policy *policy, struct json *out)
{
    json_array_begin(out);
    for (size_t i = 0; i < policy->commands.count; i++)
        json_text(out, policy->commands.items[i].text);
    json_array_end(out);
}

static void write_mandate(const struct policy *policy, struct json *out)
{
    json_bool(out, policy->mandate);
}

static void write_profile(const struct policy *policy, struct json *out)
{
    json_text(out, policy->profile);
}

static void write_refused(const struct policy *policy, struct json *out)
{
    json_bool(out, policy->refused);
}

/* The keys besides those of the table: what the loader found out by itself. Sorted too. */
static const struct {
    const char *name;
    void (*write)(const struct policy *policy, struct json *out);
} derived[] = {
    {"agent", write_agent},     {"call", write_call},       {"commands", write_commands},
    {"mandate", write_mandate}, {"profile", write_profile}, {"refused", write_refused},
};
enum { DERIVED = sizeof(derived) / sizeof(derived[0]) };

static void write_derived(const struct policy *policy, size_t number, struct json *out)
{
    json_key(out, derived[number].name);
    derived[number].write(policy, out);
}

void policy_write_canonical(const struct policy *policy, struct json *out)
{
    char group[64] = "";
    size_t next = 0;
    json_object_begin(out);
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        if (!policy_key_has_value(key))
            continue;
        size_t len = strcspn(key->path, ".");
        bool grouped = key->path[len] == '.';
        bool same = grouped && strlen(group) == len && memcmp(group, key->path, len) == 0;
        if (group[0] && !same) {
            json_object_end(out);
            group[0] = '\0';
        }
        while (!same && next < DERIVED && strcmp(derived[next].name, key->path) < 0)
            write_derived(policy, next++, out);
        if (grouped && !same) {
            snprintf(group, sizeof(group), "%.*s", (int)len, key->path);
            json_key(out, group);
            json_object_begin(out);
        }
        json_key(out, grouped ? key->path + len + 1 : key->path);
        policy_key_write(policy, key, out);
    }
    if (group[0])
        json_object_end(out);
    while (next < DERIVED)
        write_derived(policy, next++, out);
    json_object_end(out);
}

/* A writer of JSON writes a few bytes at a time; a hash likes blocks. */
struct hashing {
    struct sha256 state;
    char block[1024];
    size_t used;
};

static void flush(struct hashing *h)
{
    sha256_add(&h->state, h->block, h->used);
    h->used = 0;
}

static int add_bytes(void *user, const char *bytes, size_t len)
{
    struct hashing *h = user;
    if (len > sizeof(h->block) - h->used)
        flush(h);
    if (len > sizeof(h->block)) {
        sha256_add(&h->state, bytes, len);
    } else {
        memcpy(h->block + h->used, bytes, len);
        h->used += len;
    }
    return 0;
}

int policy_hash(struct policy *policy, struct err *e)
{
    struct hashing hashing;
    struct json out;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&hashing.state);
    hashing.used = 0;
    json_init(&out, add_bytes, &hashing);
    policy_write_canonical(policy, &out);
    int r = json_finish(&out);
    if (r < 0)
        return err_errno(e, r, "policy: the canonical form cannot be written");
    flush(&hashing);
    sha256_end(&hashing.state, digest);
    sha256_hex(digest, policy->hash);
    return 0;
}
