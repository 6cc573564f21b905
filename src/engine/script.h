/*
 * A script: bytes of some language, and the command line that runs them. What runs it comes from
 * the policy's table of languages; the bytes get into the box as a file of the plan's, below
 * PLAN_SCRIPTS, under a name that is ours. Nothing of a caller's path is in it.
 *
 * S1  What is shown to whoever confirms, what is recorded and what runs are the same bytes.
 * S2  The file is nobody's to change inside, and gone with the box. (In landlock strength it lies
 * in the private directory of the run, which the inside owns; the record never comes from there.)
 * S3  A script of bash is a command text, judged and run as one. Of any other language the program
 *     is judged that runs it, for what stands in the script is not known.
 */
#ifndef NACRE_ENGINE_SCRIPT_H
#define NACRE_ENGINE_SCRIPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "nacre.h"
#include "plan/plan.h"
#include "policy/verdict.h"

struct decider;
struct phases;
struct shell_tree;

enum { SCRIPT_ARGS_MAX = 1000 };

struct script {
    const char *language; /* its name in the table */
    const char *bytes;    /* any, with a NUL behind them */
    size_t len;
    char sha256[SHA256_HEX + 1];
    const char *text; /* the command that runs it */
    size_t text_len;
    struct plan_script file; /* without a path: the text is all of it */
    const char *missing;     /* the program that is not installed; NULL: it is */
    const char *install;     /* how to get it; NULL */
};

/*
 * The script of a call with a language. `bytes` must live as long as the script. -EINVAL for a
 * language that is not known, or arguments that do not fit; -E2BIG.
 */
int script_open(struct arena *arena, const struct policy *policy, const char *search_path,
                const nacre_run_options *o, const char *bytes, size_t len, struct script *ret,
                struct err *e);

/* The same with its file in another directory, where what is made of it lies, too. */
int script_move(struct arena *arena, const struct policy *policy, const char *search_path,
                const nacre_run_options *o, const char *dir, struct script *script, struct err *e);

/* The verdict on it; as engine_decide. */
int script_decide(const struct decider *d, struct arena *arena, const struct script *script,
                  struct phases *phases, struct verdict *ret, const struct shell_tree **ret_tree,
                  struct err *e);

/* Why it does not run, where its program is missing. */
void script_tell_missing(const struct script *script, struct err *e);

/*
 * What asks a model to go on from what came of a script: a text in which {command}, {exit_code},
 * {stdout} and {stderr} stand for these, each once it is met and nothing that is put in. NULL: our
 * own.
 */
struct script_outcome {
    const char *command;
    size_t command_len;
    int exit_code;
    const char *output, *errors;
    size_t output_len, errors_len;
};
int script_analyse(const char *template, const struct script_outcome *outcome, struct buf *out);

#endif
