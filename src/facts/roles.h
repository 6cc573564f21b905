/* What reading the words of an act shares: apply.c finds options and operands, roles.c uses them.
 */
#ifndef NACRE_FACTS_ROLES_H
#define NACRE_FACTS_ROLES_H

#include "facts/internal.h"

/* One reading of an act's words. */
struct reading {
    struct walk *w;
    struct act *act;
    const struct knowledge *command; /* whose options count: the command, or its subcommand */
    const struct knowledge *outer;   /* whose options count besides; NULL */
    const struct place *base;        /* what paths are relative to */
    struct stream in;
    struct words operands;
    struct words options, asked; /* main spellings */
    bool instead, last;          /* an option stands for the first, the last operand */
    bool code_given;             /* an option or operand has what is to be run */
    bool rest;                   /* the words behind are plain data */
    bool reads_unknown;          /* awk: a file whose name is put together */
    bool writes;                 /* an option makes it write what it would read: sed -i */
    const struct knowledge_option *removal;
    struct words scripts;    /* sed: several -e are one script */
    struct fact_word target; /* cp -t */
};

/* What a word means in its role: files, effects, acts within the act. */
void use_role(struct reading *r, const struct fact_word *word, enum role role);
/* A word of which nothing is known: it may be a path. */
void use_loose(struct reading *r, const struct fact_word *word);
/* All scripts of a sed, which are one. */
void use_scripts(struct reading *r);
/* What flows in is run. */
void use_stdin_as_code(struct reading *r);

/* The word from its letter `skip` on. */
struct fact_word word_from(const struct fact_word *word, size_t skip);

#endif
