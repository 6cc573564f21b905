/* How much each file changed, as a table with bars; for nacre diff --stat. */
#ifndef NACRE_CLI_DIFF_STAT_H
#define NACRE_CLI_DIFF_STAT_H

#include "changes/patch.h"

struct diff_stat {
    struct arena *arena;
    struct diff_stat_row *items;
    size_t count, room;
};

int diff_stat_add(struct diff_stat *s, const struct patch *p);
int diff_stat_append(const struct diff_stat *s, bool colour, struct buf *out);

#endif
