/* See verified.h. */
#include "history/verified.h"

#include <stdio.h>

struct looking {
    struct verified *verified;
    int (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

static void note_bad(void *user, uint64_t index, const char *name, const char *why)
{
    struct verified *v = ((struct looking *)user)->verified;
    if (v->bad_count < VERIFIED_BAD_MAX) {
        v->bad[v->bad_count].index = index;
        snprintf(v->bad[v->bad_count].name, sizeof(v->bad[0].name), "%s", name);
        snprintf(v->bad[v->bad_count].why, sizeof(v->bad[0].why), "%s", why);
    }
    v->bad_count++;
}

static int tell(void *user, uint64_t done, uint64_t all)
{
    const struct looking *l = user;
    return l->progress ? l->progress(l->user, done, all) : 0;
}

int verified_objects(struct verified *v, const char *state,
                     int (*progress)(void *user, uint64_t done, uint64_t all), void *user,
                     struct err *e)
{
    struct looking l = {.verified = v, .progress = progress, .user = user};
    int r = history_verify_objects(state, tell, note_bad, &l, &v->checked, &v->missing, e);
    v->objects_known = r == 0;
    return r;
}

bool verified_is_good(const struct verified *v)
{
    return v->ledger.good && v->objects_known && v->bad_count == 0;
}

static void number(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_unsigned(j, value);
}

static void write_objects(struct json *j, const struct verified *v)
{
    json_key(j, "objects");
    if (!v->objects_known) {
        json_nothing(j);
        return;
    }
    json_object_begin(j);
    number(j, "good", v->checked);
    number(j, "missing", v->missing);
    number(j, "damage_count", v->bad_count);
    json_key(j, "damages");
    json_array_begin(j);
    for (size_t i = 0; i < v->bad_count && i < VERIFIED_BAD_MAX; i++) {
        json_object_begin(j);
        number(j, "index", v->bad[i].index);
        json_key(j, "object");
        json_text(j, v->bad[i].name);
        json_key(j, "what");
        json_text(j, v->bad[i].why);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

void verified_write_json(const struct verified *v, struct json *j)
{
    json_object_begin(j);
    json_key(j, "good");
    json_bool(j, verified_is_good(v));
    report_write_json(&v->ledger, j);
    write_objects(j, v);
    json_object_end(j);
}
