/*
 * The verdict at exec: what the reading of a text believed is held against what happens. Every
 * program that is really started inside is seen with its file and its arguments before its first
 * instruction, judged, and put down.
 *
 * X1  A program that a rule denies, or asks for, runs no instruction, whatever it is called and
 *     wherever its file lies, unless a person has said yes to that rule for this text.
 * X2  Under a mandate nothing runs that is not on its list.
 * X3  What cannot be looked at, or be judged for any other reason, does not run.
 * X4  Everything else runs, and all of it is put down.
 *
 * A thread judges, so that no program waits for whoever reads the output.
 */
#ifndef NACRE_ENGINE_PROGRAMS_H
#define NACRE_ENGINE_PROGRAMS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "engine/crew.h"
#include "plan/plan.h"
#include "policy/verdict.h"

struct files_memory;
struct setting;

struct executed {
    const char *const *argv; /* the first words, or of a long one the head */
    size_t argc;
    uint64_t argc_total;
    int exit_code; /* of its process; -1: another program took its place, or nobody knows */
    bool granted;  /* under a mandate: as the interpreter of a script that is on the list */
};

/* A program that was stopped, and by what. */
struct stopped {
    const char *name, *rule, *key;
    uint64_t times;
};

enum { STOPPED_MAX = 8 };

struct programs {
    int socket; /* a sandbox's; -1: nothing was started */
    struct crew *crew;
    struct crew_task task;
    bool judges;   /* else they are only put down */
    bool expected; /* there will be some: what they are judged by is gathered at once */
    const struct setting *setting;
    struct files_memory *memory;     /* of the handle; NULL */
    const struct verdict *confirmed; /* what a person has said yes to; NULL */
    const struct plan *plan;
    const char *waiting_for; /* the text that a bash which was executed ahead got; NULL */
    bool replaced;           /* and that is a plain command, which takes its place */
    struct arena arena;      /* of all below */
    struct executed *items;
    size_t count, capacity, bytes;
    uint64_t total;
    struct stopped stopped[STOPPED_MAX];
    size_t stopped_count;
    uint64_t stopped_more;
};

/*
 * Begins to listen; what is above `arena` is the caller's to say, and what was put down earlier is
 * forgotten. With `waiting_for` the first program is a bash that was executed ahead, and is put
 * down as if it had got this text with `-c`; or not at all, where bash would have executed that
 * text in its own place.
 */
int programs_begin(struct programs *p, const struct programs *how,
                   const struct allocator *allocator, struct err *e);

/* The run is over: waits until everything that was told is put down. */
void programs_end(struct programs *p);
void programs_release(struct programs *p);

/* programs_judge.c: whether it runs; else which rule it is that stops it. */
struct files;
struct sandbox_program;
bool programs_judge(const struct programs *p, const struct files *files, struct arena *arena,
                    const struct sandbox_program *program, struct stopped *ret, bool *ret_granted);

void programs_write_json(const struct programs *p, struct json *j);

#endif
