/*
 * What a model is told about the shell, and by which tools it has it.
 *
 * In:    the effective policy and the place.
 * Out:   a text, and schemas in the forms that models are given them in.
 * Never: says of the shell what the policy does not.
 */
#ifndef NACRE_SERVE_PROMPT_H
#define NACRE_SERVE_PROMPT_H

#include "engine/engine.h"

/*
 * What the shell can do here: as `messages.prompt` has it, else in our own words. `session` is the
 * name of one in which every command runs; NULL: each starts afresh.
 */
void prompt_append(const struct setting *setting, const char *session, struct buf *out);

/* mcp_tools.c: the tools that the policy gives, as one JSON array. */
enum prompt_form { PROMPT_MCP, PROMPT_OPENAI, PROMPT_ANTHROPIC };
void prompt_write_tools(const struct policy *policy, enum prompt_form form, struct json *out);

#endif
