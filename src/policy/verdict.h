/*
 * Facts + policy → verdict. Pure: no file, clock or environment is asked, and a zeroed verdict
 * means deny. The strictest act decides, wherever it stands in the text; every reason is given.
 */
#ifndef NACRE_POLICY_VERDICT_H
#define NACRE_POLICY_VERDICT_H

#include "facts/facts.h"
#include "policy/policy.h"

struct verdict_reason {
    enum decision decision;
    const char *rule;   /* "deny: git push --force", "path: outside", "unknown" */
    const char *reason; /* one clause for people */
    struct shell_span span;
    struct verdict_reason *next;
};

struct verdict {
    enum decision decision;
    const char *rule;               /* that decided */
    struct verdict_reason *reasons; /* the strictest first, then by their place; none for allow */
    size_t reason_count;
    const struct facts *facts; /* NULL: the text was not read */
    const char *mandate_hash;
};

/* A policy made ready: ~ and the workspace put in, patterns sorted. */
struct judge;
int judge_new(struct arena *arena, const struct policy *policy, const char *home,
              const char *workspace, const struct judge **ret, struct err *e);

/* 0 or -ENOMEM. */
int judge_facts(const struct judge *judge, struct arena *arena, const struct facts *facts,
                struct verdict *ret, struct err *e);

/*
 * The verdict on the command line that runs a script of another language, which is ours: by the
 * lists, as for any text, and by `shell.scripts` where none has a word on the program. The script's
 * file is the box's own, and what stands in it is nobody's to judge.
 */
int judge_script(const struct judge *judge, struct arena *arena, const struct facts *facts,
                 struct verdict *ret, struct err *e);

/* The verdict on a text that could not be read. */
int judge_unread(const struct judge *judge, struct arena *arena, const struct shell_error *error,
                 struct verdict *ret);

/*
 * The verdict on a program that was really started: by the rules that deny or ask for it by name,
 * and by no other, since its files are kept by walls, and what it is below was judged. `key` is
 * what in a configuration opens it.
 */
struct program_verdict {
    enum decision decision;
    const char *rule; /* NULL: none has a word on it */
    const char *key;
};
int judge_program(const struct judge *judge, struct arena *arena, const struct act *act,
                  const struct verdict *confirmed, struct program_verdict *ret, struct err *e);
/* Whether any such rule can be about a name; patterns with a path are about all. */
bool judge_has_rule(const struct judge *judge, const char *name);
bool judge_has_paths(const struct judge *judge);
/* Whether the list names the act itself, or (`mandate`) the list of this call allows it. */
bool judge_is_listed(const struct judge *judge, const struct act *act, bool mandate);

void verdict_write_json(const struct verdict *verdict, struct json *out);
extern const char *const decision_names[]; /* deny, confirm, allow */

/* match.c */
enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };
bool match_allow(const struct policy_pattern *pattern, const struct act *act);
/* MATCH_MAYBE: a word that is not known could make it match. */
enum match match_deny(const struct policy_pattern *pattern, const struct act *act,
                      const char *workspace);

/* judge_paths.c */
struct judge_paths;
const struct judge_paths *judge_paths_new(struct arena *arena, const struct policy *policy,
                                          const char *home, const char *workspace);
/* The decision on one path of an act; the rule and the reason when it is not allow. */
enum decision judge_path(const struct judge_paths *paths, struct arena *arena,
                         const struct fact_path *path, const char **ret_rule,
                         const char **ret_reason);

#endif
