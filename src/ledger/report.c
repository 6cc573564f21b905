/* See report.h. */
#include "ledger/report.h"

#include <inttypes.h>

void report_root(const struct ledger_report *r, char ret_text[REPORT_ROOT_TEXT + 1])
{
    base64_write(r->root, SHA256_BYTES, ret_text);
    ret_text[REPORT_ROOT_TEXT] = '\0';
}

static void number(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_unsigned(j, value);
}

void report_write_json(const struct ledger_report *r, struct json *j)
{
    char root[REPORT_ROOT_TEXT + 1];
    report_root(r, root);
    json_key(j, "origin");
    json_text(j, r->origin);
    json_key(j, "key_was_given");
    json_bool(j, r->key_was_given);
    number(j, "size", r->size);
    json_key(j, "root");
    json_text(j, root);
    number(j, "first", r->first);
    number(j, "since", r->since);
    number(j, "segments", r->segments);
    number(j, "checkpoints", r->checkpoints);
    number(j, "signatures", r->signatures);
    number(j, "bytes", r->bytes);
    number(j, "unsigned_records", r->unsigned_records);
    number(j, "torn_bytes", r->torn_bytes);
    number(j, "damage_count", r->damage_count);
    json_key(j, "damages");
    json_array_begin(j);
    for (size_t i = 0; i < r->damage_count && i < LEDGER_DAMAGES_MAX; i++) {
        const struct ledger_damage *d = &r->damages[i];
        json_object_begin(j);
        number(j, "index", d->index);
        if (d->located) {
            number(j, "segment", d->segment);
            number(j, "offset", d->offset);
        }
        json_key(j, "what");
        json_text(j, d->text);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_append_damages(const struct ledger_report *r, struct buf *out)
{
    for (size_t i = 0; i < r->damage_count && i < LEDGER_DAMAGES_MAX; i++) {
        const struct ledger_damage *d = &r->damages[i];
        if (d->located)
            buf_append_format(
                out, "damaged: entry %" PRIu64 " (segment %" PRIu64 ", byte %" PRIu64 "): %s\n",
                d->index, d->segment, d->offset, d->text);
        else
            buf_append_format(out, "damaged: %s\n", d->text);
    }
    if (r->damage_count > LEDGER_DAMAGES_MAX)
        buf_append_format(out, "damaged: and %zu places more\n",
                          r->damage_count - LEDGER_DAMAGES_MAX);
}
