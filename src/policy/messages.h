/*
 * Texts with {name} in them, as the policy's `messages` has them.
 *
 * A brace that is not followed by a name of small letters and _, and a closing one, is itself.
 */
#ifndef NACRE_POLICY_MESSAGES_H
#define NACRE_POLICY_MESSAGES_H

#include "base/buf.h"
#include "policy/policy.h"

enum { MESSAGE_TEMPLATE_MAX = 4096 };

/* The names that texts of a kind may have, separated by '|'. */
#define MESSAGE_REFUSAL "allowed|command|name|reason|rule"
#define MESSAGE_PROMPT                                                                             \
    "default_timeout|gates|max_command_length|network|output_limit|timeout_max|workspace|writes"

/* Whether a name in braces is not among `names`: then where it is. */
bool message_find_unknown(const char *text, const char *names, const char **ret_name,
                          size_t *ret_len);

struct message_value {
    const char *name; /* NULL: the end */
    const char *bytes;
    size_t len;
};

/* The text with the values put in; a name without one stays as it is written. */
int message_append(const char *text, const struct message_value *values, struct buf *out);

/* How many characters a text has without the blanks at its ends: what max_command_length counts. */
size_t message_characters(const char *text, size_t len);

/* What a decision is called: as `messages.decisions` has it, else allow, confirm, deny. */
const char *policy_decision_name(const struct policy *policy, enum decision decision);

#endif
