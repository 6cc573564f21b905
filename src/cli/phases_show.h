/* The phases of a run for a person, and for a file. */
#ifndef NACRE_CLI_PHASES_SHOW_H
#define NACRE_CLI_PHASES_SHOW_H

#include "nacre.h"

void phases_show(const nacre_result *r); /* on standard error */
int phases_save(const nacre_result *r, const char *path);

#endif
