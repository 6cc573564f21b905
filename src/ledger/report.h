/* What a verification found, for people and programs: the same words in every program that tells
 * it. */
#ifndef NACRE_LEDGER_REPORT_H
#define NACRE_LEDGER_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "ledger/base64.h"
#include "ledger/ledger.h"

enum { REPORT_ROOT_TEXT = BASE64_LEN(SHA256_BYTES) };

/* The tree's root in base64, as checkpoints have it. */
void report_root(const struct ledger_report *r, char ret_text[REPORT_ROOT_TEXT + 1]);

/* The keys of an object that is begun, from `origin` to `damages`. */
void report_write_json(const struct ledger_report *r, struct json *j);

/* One line for each damage. */
void report_append_damages(const struct ledger_report *r, struct buf *out);

#endif
