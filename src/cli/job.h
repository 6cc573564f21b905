/* What the commands share that deal with runs in the background. */
#ifndef NACRE_CLI_JOB_H
#define NACRE_CLI_JOB_H

#include "history/history.h"
#include "jobs/jobs.h"

/*
 * The whole id for the start of one: a job's, else that of any run that is recorded. False: there
 * is none, and it was said in the name of `command`.
 */
bool job_resolve(const char *command, const char *word, char ret_id[UUID_TEXT + 1]);

/* Asks and hears until the job's end, or until the connection's. 0 or a negative errno. */
int job_watch(int fd, enum job_kind asks, struct err *e);

/*
 * The record of a run, and what `use` makes of it: an exit status. Complains by itself.
 */
typedef int job_use(const struct history_run *run, void *user);
int job_with_record(const char *command, const char *id, job_use *use, void *user);

/* Its output on our own, made safe for terminals. 0 or a negative errno. */
int job_print_output(const struct history_run *run);

/* As `nacre run` would have told it: output, warnings and error, or one line of JSON; the exit
 * status is the run's own. */
int job_print_result(const struct history_run *run, bool json);

#endif
