/* What the files of the index share. */
#ifndef NACRE_HISTORY_INTERNAL_H
#define NACRE_HISTORY_INTERNAL_H

#include <sqlite3.h>

#include "history/history.h"

struct history {
    char *state, *objects, *database, *lock_path;
    struct ledger *ledger;
    sqlite3 *db;
    struct history_options options;
};

/* Sets the message from the database; -EUCLEAN where it is damaged, so that it is made again. */
int index_fail(struct history *h, const char *what, struct err *e);

/* Removes the index and makes it again: for whoever met -EUCLEAN while reading. */
int index_rebuild(struct history *h, struct err *e);

int index_execute(struct history *h, const char *sql, struct err *e);
int index_prepare(struct history *h, const char *sql, sqlite3_stmt **ret, struct err *e);

static inline void index_finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
    *statement = NULL;
}
#define STATEMENT_CLEANUP __attribute__((cleanup(index_finalize)))

/* index_update.c: from the last entry that is in it to the ledger's end. -EUCLEAN: it does not fit
 * the ledger. */
int index_update(struct history *h, struct err *e);

/* index_build.c: one record into the index. What is no entry of ours is passed over. */
struct index_writer;
int index_writer_new(struct history *h, struct index_writer **ret, struct err *e);
void index_writer_free(struct index_writer *w);
int index_write(struct index_writer *w, const struct ledger_record *record, struct err *e);

#endif
