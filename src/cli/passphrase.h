/* A passphrase, from a person at the terminal or from a file. */
#ifndef NACRE_CLI_PASSPHRASE_H
#define NACRE_CLI_PASSPHRASE_H

#include "approve/approve.h"

/*
 * Reads one into `ret`; `file` NULL: asks at the terminal, without showing it, and `twice` once
 * more. Other programs of the user's cannot look into this process from here on. 0, or a negative
 * errno with the message.
 */
int passphrase_read(const char *prompt, const char *file, bool twice, char ret[PASSPHRASE_MAX + 1],
                    struct err *e);
void passphrase_forget(char text[PASSPHRASE_MAX + 1]);

#endif
