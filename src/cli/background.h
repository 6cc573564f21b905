/*
 * A run that goes on after the command has returned. The command forks before anything else is
 * opened; the child asks, decides and starts as every run does, tells its parent the id, lets go of
 * the caller's descriptors, and becomes the job's supervisor.
 */
#ifndef NACRE_CLI_BACKGROUND_H
#define NACRE_CLI_BACKGROUND_H

#include <stdbool.h>

#include "jobs/jobs.h"
#include "nacre.h"

struct background {
    int told;  /* where the id is told; -1 from then on */
    int input; /* what the run reads as its standard input */
    struct job *job;
    bool started;
    struct job_options options;
};

/*
 * In the child returns true, with `b` ready. In the parent returns false when the job is under way,
 * and the id is printed, or else when the child has said why not; `ret_status` is the exit status.
 */
bool background_fork(struct background *b, bool json, int *ret_status);

/* In the child: gives the run its standard input and what it needs besides. Complains by itself. */
bool background_prepare(struct background *b, int cancel_fd, nacre_run_options *o);

/* nacre_run_options.on_start and on_output, for whoever calls them with `b`. */
int background_start(struct background *b, const char *id);
int background_output(struct background *b, nacre_stream stream, const char *bytes, size_t len);

/* After the run. */
void background_end(struct background *b);

#endif
