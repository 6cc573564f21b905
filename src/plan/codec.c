/*
 * The plan as bytes, for the descriptor between the supervisor and the launcher.
 *
 * A header (magic, number of steps), then for each step its fixed fields in the machine's own byte
 * order (both ends are one build on one machine), then path and text, each with a NUL. A text that
 * is absent has length NONE.
 */
#include <errno.h>
#include <string.h>

#include "plan/plan.h"

static const char magic[8] = "nacrepl1";

#define NONE UINT32_MAX

struct header {
    char magic[8];
    uint32_t count;
    uint32_t zero;
};

struct record {
    uint32_t kind;
    uint32_t flags;
    uint64_t number[2];
    uint32_t path_len;
    uint32_t text_len;
};

static uint32_t text_len(const char *text)
{
    return text ? (uint32_t)strlen(text) : NONE;
}

int plan_encode(const struct plan *plan, struct buf *out)
{
    struct header header = {.count = (uint32_t)plan->count};
    memcpy(header.magic, magic, sizeof(magic));
    buf_append(out, &header, sizeof(header));

    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        struct record record = {
            .kind = (uint32_t)step->kind,
            .flags = step->flags,
            .number = {step->number[0], step->number[1]},
            .path_len = text_len(step->path),
            .text_len = text_len(step->text),
        };
        buf_append(out, &record, sizeof(record));
        if (step->path)
            buf_append(out, step->path, record.path_len + (size_t)1);
        if (step->text)
            buf_append(out, step->text, record.text_len + (size_t)1);
    }
    return out->failed;
}

struct reader {
    const char *at;
    size_t left;
};

static bool take(struct reader *r, void *ret, size_t len)
{
    if (r->left < len)
        return false;
    memcpy(ret, r->at, len);
    r->at += len;
    r->left -= len;
    return true;
}

/* A text of exactly `len` bytes and its NUL. */
static bool take_text(struct reader *r, uint32_t len, const char **ret)
{
    *ret = NULL;
    if (len == NONE)
        return true;
    if (r->left <= len || memchr(r->at, '\0', (size_t)len + 1) != r->at + len)
        return false;
    *ret = r->at;
    r->at += (size_t)len + 1;
    r->left -= (size_t)len + 1;
    return true;
}

/* Absolute, and no component that climbs. */
static bool path_is_plain(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *s = path; (s = strstr(s, "..")); s += 2) {
        if (s[-1] == '/' && (s[2] == '/' || s[2] == '\0'))
            return false;
    }
    return true;
}

static bool step_fits_kind(const struct plan_step *step)
{
    if (step->kind <= PLAN_NOTHING || step->kind >= PLAN_KINDS ||
        step->flags & ~(uint32_t)PLAN_FLAGS_ALL)
        return false;
    const struct plan_kind_info *info = &plan_kinds[step->kind];
    if (info->has_path != (step->path != NULL) || (info->text != NULL) != (step->text != NULL))
        return false;
    return !step->path || path_is_plain(step->path);
}

int plan_decode(const char *bytes, size_t len, struct plan_step *steps, size_t max,
                struct plan *ret, struct err *e)
{
    struct reader reader = {.at = bytes, .left = len};
    struct header header;
    if (!take(&reader, &header, sizeof(header)) ||
        memcmp(header.magic, magic, sizeof(magic)) != 0 || header.zero != 0)
        return err_set(e, -EBADMSG, "plan: not a plan");
    if (header.count > max)
        return err_set(e, -E2BIG, "plan: %u steps, at most %zu", header.count, max);

    for (uint32_t i = 0; i < header.count; i++) {
        struct record record;
        struct plan_step *step = &steps[i];
        if (!take(&reader, &record, sizeof(record)))
            return err_set(e, -EBADMSG, "plan: cut off in step %u", i);
        *step = (struct plan_step){
            .kind = record.kind < PLAN_KINDS ? (enum plan_kind)record.kind : PLAN_NOTHING,
            .flags = record.flags,
            .number = {record.number[0], record.number[1]},
        };
        if (!take_text(&reader, record.path_len, &step->path) ||
            !take_text(&reader, record.text_len, &step->text) || !step_fits_kind(step))
            return err_set(e, -EBADMSG, "plan: step %u is malformed", i);
    }
    if (reader.left)
        return err_set(e, -EBADMSG, "plan: %zu bytes behind the last step", reader.left);
    *ret = (struct plan){.steps = steps, .count = header.count};
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool plan_begins_with(const struct plan *plan, const struct plan *head)
{
    bool same = plan->count >= head->count;
    for (size_t i = 0; same && i < head->count; i++) {
        const struct plan_step *a = &plan->steps[i], *b = &head->steps[i];
        same = a->kind == b->kind && a->flags == b->flags && a->number[0] == b->number[0] &&
               a->number[1] == b->number[1] && same_text(a->path, b->path) &&
               same_text(a->text, b->text);
    }
    return same;
}
