/*
 * The person's terminal, while a command has one of its own: every key is the command's, ^C and ^Z
 * too. It is put back however we end, but by SIGKILL.
 */
#ifndef NACRE_CLI_TTY_H
#define NACRE_CLI_TTY_H

/* If standard input is a terminal, and we are in its foreground. */
void tty_begin(void);
void tty_end(void);

/* A terminal of the person's, whose changes of size interrupt us from here on; -1: there is none.
 */
int tty_watch_size(void);

#endif
