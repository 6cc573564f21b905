/* Whether what stands in a secret's place can be one. */
#ifndef NACRE_REDACT_JUDGE_H
#define NACRE_REDACT_JUDGE_H

#include "redact/match.h"

/* `m->to` is its end as far as it is known; what is longer than some hundred bytes is judged by its
 * beginning. `at` is where the rule's pattern began. */
bool judge_secret(const struct rule *rule, const struct view *v, size_t at, const struct match *m);

/* Words that are no secrets wherever they stand: "true", "localhost", "/usr/bin" … */
bool judge_is_common(const char *bytes, size_t len);

#endif
