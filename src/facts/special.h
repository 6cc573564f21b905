/* What a table of options cannot say: a few commands have rules of their own. */
#ifndef NACRE_FACTS_SPECIAL_H
#define NACRE_FACTS_SPECIAL_H

#include "facts/internal.h"

/* bash, sh and their kin: -c takes the first operand, + turns options off, -s reads what flows in.
 */
void special_shell(struct walk *w, struct act *act, struct stream in);

/* The command line behind a wrapper. */
void special_argv(struct walk *w, struct act *act, const struct fact_word *words, size_t count,
                  struct stream in);
struct stream special_run(struct walk *w, const struct fact_word *words, size_t count,
                          struct shell_span span, struct stream in, struct act **ret);

/* find -exec: {} is a file below where it starts. */
void special_found_files(struct walk *w, struct act *act, const struct fact_word *words,
                         size_t count, struct stream in);

/* An option that makes the command another: find -delete. */
void special_removal(struct walk *w, struct act *act, const struct knowledge_option *option,
                     const struct words *operands, size_t option_count);

/* git -C DIR: another repository has a configuration of its own, which can run programs. */
void special_enter(struct walk *w, struct act *act, const struct fact_word *word,
                   const struct place *base);

/* A word in which only digits are not known, with some digits in their place; else as it is. */
struct fact_word special_fill_numbers(struct walk *w, const struct fact_word *word);

/* ln -s: what the targets are relative to. */
const struct place *special_link_base(struct walk *w, const struct act *act,
                                      const struct fact_word *link, const struct place *base);

/* ln -s TARGET LINK: what is below the link is below its target from here on. */
void special_note_link(struct walk *w, const struct act *act);

/* Those that take +COMMAND for a command of their own. */
bool special_is_pager(const char *name);

/* tar x: what it enters, it writes to. */
bool special_unpacks(const struct act *act);

/* An option that an operand stands for: git push origin +main is --force; or NULL. */
const char *special_implied(const struct act *act, const struct words *operands);

/* Words joined with blanks, as eval and watch do. */
struct fact_word special_join(struct walk *w, const struct fact_word *words, size_t count);

#endif
