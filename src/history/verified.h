/* What a look at all that is kept has found: in the ledger, and of the objects. */
#ifndef NACRE_HISTORY_VERIFIED_H
#define NACRE_HISTORY_VERIFIED_H

#include "base/json.h"
#include "history/history.h"
#include "ledger/report.h"

enum { VERIFIED_BAD_MAX = 64 };

struct verified {
    struct ledger_report ledger;
    bool objects_known;
    uint64_t checked, missing, bad_count;
    struct {
        uint64_t index;
        char name[SHA256_HEX + 1];
        char why[ERR_MESSAGE_MAX];
    } bad[VERIFIED_BAD_MAX];
};

/* The objects of a state directory, once its ledger is known to be good. */
int verified_objects(struct verified *v, const char *state,
                     int (*progress)(void *user, uint64_t done, uint64_t all), void *user,
                     struct err *e);
bool verified_is_good(const struct verified *v);
void verified_write_json(const struct verified *v, struct json *j);

#endif
