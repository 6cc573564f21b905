/* What the commands share that look at the record of runs. */
#ifndef NACRE_CLI_RECORD_H
#define NACRE_CLI_RECORD_H

#include "history/history.h"

/*
 * Opens the history of the caller's state directory, with a line of progress on a terminal where
 * that takes long. -ENOENT: nothing was ever recorded. Complains by itself about all else.
 */
int record_open(const char *command, struct history **ret);

/* A line on standard error that says how far something is; only once it takes long. */
struct record_progress {
    const char *what;
    uint64_t start_ms, shown_ms;
    bool terminal;
};
void record_progress_start(struct record_progress *p, const char *what);
int record_progress_show(void *progress, uint64_t done, uint64_t all); /* 0 */
void record_progress_end(struct record_progress *p);

/* A file that the caller named, whole. */
int record_read_file(const char *path, struct buf *out, struct err *e);

/* `since` and its like: when_parse with a complaint. False: it is none. */
bool record_parse_when(const char *command, const char *option, const char *text, int64_t *ret);

#endif
