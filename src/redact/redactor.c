/* Redactors, and texts that are there as a whole; see redact.h. */
#include <errno.h>
#include <string.h>

#include "redact/maker.h"
#include "redact/stream.h"
#include "redact/values.h"

enum { RANK_VALUE, RANK_RULE, SHORT_MAX = 4096 };

static const char default_replacement[] = "[REDACTED:{rule}]";

/* What a caller's rules and values lie in. */
struct own_rules {
    struct rule_maker maker;
    struct rule_set set;
    struct buf texts; /* the forms of all values; as long as the redactor lives, it does not move */
    struct buf names; /* one behind the other, each with its NUL */
    uint8_t filter[FILTER_BYTES];
};

/* --- making ---------------------------------------------------------------------------------- */

static int check_name(const char *name, struct err *e)
{
    size_t len = name ? strlen(name) : 0;
    bool good = len > 0 && len <= REDACT_NAME_MAX;
    for (size_t i = 0; good && i < len; i++) {
        char c = name[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
    }
    return good ? 0
                : err_set(e, -EINVAL,
                          "the name of a redaction rule has 1 to %d letters, digits, "
                          "'_', '-' and '.'",
                          REDACT_NAME_MAX);
}

static int check_options(const struct redact_options *o, struct err *e)
{
    if (o->value_count > REDACT_VALUES_MAX || o->rule_count > REDACT_VALUES_MAX)
        return err_set(e, -E2BIG, "more than %d values or rules to redact", REDACT_VALUES_MAX);
    for (size_t i = 0; i < o->value_count; i++) {
        if (check_name(o->values[i].name, e) < 0)
            return -EINVAL;
        if (o->values[i].len > REDACT_VALUE_BYTES)
            return err_set(e, -E2BIG, "the value '%s' to redact is longer than %d bytes",
                           o->values[i].name, REDACT_VALUE_BYTES);
    }
    for (size_t i = 0; i < o->rule_count; i++) {
        if (check_name(o->rules[i].name, e) < 0)
            return -EINVAL;
    }
    size_t len = o->replacement ? strlen(o->replacement) : 1;
    /* Without any the bytes around a secret could make another. */
    if (len == 0 || len > REDACT_REPLACEMENT_MAX)
        return err_set(e, -EINVAL, "the replacement for secrets has 1 to %d bytes",
                       REDACT_REPLACEMENT_MAX);
    return 0;
}

/* The forms are found while their texts are written, and become rules when all have their place. */
struct adding {
    struct own_rules *own;
    struct rule rule;
    struct err *e;
};

static int add_form(void *user, const struct value_form *form)
{
    struct adding *a = user;
    a->rule.text = a->own->texts.data + form->offset;
    a->rule.text_len = (uint32_t)form->len;
    a->rule.text_flags = form->flags;
    return rule_maker_add_text(&a->own->maker, &a->rule, a->e);
}

static const char *copy_name(struct own_rules *own, const char *name)
{
    size_t at = own->names.len;
    if (buf_append(&own->names, name, strlen(name) + 1) < 0)
        return NULL;
    return own->names.data + at;
}

static int add_all(struct own_rules *own, const struct redact_options *o, struct err *e)
{
    uint16_t number = (uint16_t)rules_builtin.rule_count;
    for (size_t i = 0; i < o->rule_count; i++) {
        struct rule rule = {
            .name = copy_name(own, o->rules[i].name), .number = number, .rank = RANK_RULE};
        number++;
        int r = rule_maker_add_pattern(&own->maker, &rule, o->rules[i].pattern, NULL, e);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < o->value_count; i++) {
        const struct redact_value *value = &o->values[i];
        struct adding a = {.own = own, .e = e};
        a.rule = (struct rule){.name = copy_name(own, value->name),
                               .kind = RULE_TEXT,
                               .number = number,
                               .rank = RANK_VALUE};
        number++;
        if (!redact_value_is_usable(value->bytes, value->len))
            continue;
        int r = value_each_form(value->bytes, value->len, &own->texts, add_form, &a);
        if (r < 0)
            return err_errno(e, r, "the value '%s' to redact", value->name);
    }
    return rule_maker_finish(&own->maker, &own->set, e);
}

static void free_own(const struct allocator *a, struct own_rules *own)
{
    if (!own)
        return;
    explicit_bzero(own->texts.data, own->texts.len);
    buf_release(&own->texts);
    buf_release(&own->names);
    rule_maker_release(&own->maker);
    alloc_free(a, own);
}

static int make_own(struct redactor *r, const struct redact_options *o, struct err *e)
{
    size_t texts = 0, names = 0;
    for (size_t i = 0; i < o->value_count; i++) {
        texts += value_forms_room(o->values[i].len);
        names += strlen(o->values[i].name) + 1;
    }
    for (size_t i = 0; i < o->rule_count; i++)
        names += strlen(o->rules[i].name) + 1;
    struct own_rules *own = alloc_resize(r->allocator, NULL, sizeof(*own));
    if (!own)
        return err_errno(e, -ENOMEM, "redaction");
    rule_maker_init(&own->maker, r->allocator);
    buf_init(&own->texts, r->allocator, texts);
    buf_init(&own->names, r->allocator, names);
    int error = buf_reserve(&own->texts, texts) < 0 || buf_reserve(&own->names, names) < 0
                    ? err_errno(e, -ENOMEM, "redaction")
                    : add_all(own, o, e);
    if (error < 0) {
        free_own(r->allocator, own);
        return error;
    }
    for (size_t i = 0; i < FILTER_BYTES; i++)
        own->filter[i] = rules_builtin.filter[i] | own->set.filter[i];
    r->made = own;
    r->own = &own->set;
    r->filter = own->filter;
    return 0;
}

int redactor_new(const struct redact_options *options, struct redactor **ret, struct err *e)
{
    static const struct redact_options none;
    const struct redact_options *o = options ? options : &none;
    const struct allocator *a = o->allocator ? o->allocator : &allocator_libc;
    int error = check_options(o, e);
    if (error < 0)
        return error;
    struct redactor *r = alloc_resize(a, NULL, sizeof(*r));
    if (!r)
        return err_errno(e, -ENOMEM, "redaction");
    *r = (struct redactor){.allocator = a,
                           .filter = rules_builtin.filter,
                           .names = rules_builtin.rule_count + o->rule_count + o->value_count};
    const char *replacement = o->replacement ? o->replacement : default_replacement;
    memcpy(r->replacement, replacement, strlen(replacement) + 1);
    if (o->rule_count + o->value_count > 0)
        error = make_own(r, o, e);
    if (error < 0) {
        alloc_free(a, r);
        return error;
    }
    *ret = r;
    return 0;
}

void redactor_free(struct redactor *r)
{
    if (!r)
        return;
    free_own(r->allocator, r->made);
    alloc_free(r->allocator, r);
}

size_t redactor_rule_count(const struct redactor *r)
{
    return r->names;
}

const char *redactor_rule_name(const struct redactor *r, size_t rule)
{
    if (rule < rules_builtin.rule_count)
        return rules_builtin.rules[rule].name;
    if (rule >= r->names)
        return NULL;
    const char *name = r->made->names.data;
    for (size_t i = rules_builtin.rule_count; i < rule; i++)
        name += strlen(name) + 1;
    return name;
}

/* --- a text ---------------------------------------------------------------------------------- */

/* Whether the filter marks no place: then there is no secret, and nothing has to be set up. */
static bool is_clean(const struct redactor *r, const char *bytes, size_t len)
{
    if (len > SHORT_MAX)
        return false;
    unsigned char tail[MARGIN * 3] = {0};
    const size_t tail_len = sizeof(tail) - MARGIN;
    size_t body = len > tail_len ? len - tail_len : 0;
    /* Beyond the text nothing may be read: its last bytes are looked at elsewhere. */
    if (!scan_is_clean(r, (const unsigned char *)bytes, body))
        return false;
    if (len > 0)
        memcpy(tail, bytes + body, len - body);
    return scan_is_clean(r, tail, len - body);
}

static int append_to_buf(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static int run_stream(struct redact_stream *s, const char *bytes, size_t len, struct err *e)
{
    int r = redact_stream_feed(s, bytes, len, e);
    return r < 0 ? r : redact_stream_finish(s, e);
}

int redact_text(const struct redactor *r, const char *bytes, size_t len, struct buf *out,
                size_t *ret_count, struct err *e)
{
    size_t before = out->len, count = 0;
    if (is_clean(r, bytes, len)) {
        int error = buf_append(out, bytes, len);
        if (error < 0)
            return err_errno(e, error, "redaction");
    } else {
        struct redact_stream *s;
        int error = redact_stream_new(r, append_to_buf, out, &s, e);
        if (error < 0)
            return error;
        error = run_stream(s, bytes, len, e);
        count = (size_t)redact_stream_count(s);
        redact_stream_free(s);
        if (error < 0) {
            out->len = before;
            if (out->capacity)
                out->data[before] = '\0';
            return error;
        }
    }
    if (ret_count)
        *ret_count = count;
    return 0;
}

int redact_find(const struct redactor *r, const char *bytes, size_t len, struct redact_found *ret,
                struct err *e)
{
    struct redact_stream *s;
    struct redact_found found;
    if (is_clean(r, bytes, len))
        return 0;
    int error = redact_stream_new(r, NULL, NULL, &s, e);
    if (error < 0)
        return error;
    stream_only_find(s, &found);
    error = run_stream(s, bytes, len, e);
    uint64_t count = redact_stream_count(s);
    redact_stream_free(s);
    if (error < 0)
        return error;
    if (count > 0)
        *ret = found;
    return count > 0;
}
