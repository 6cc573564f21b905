/* See tty.h. */
#include "cli/tty.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool changed;

void tty_begin(void)
{
    static bool registered;
    struct termios raw;
    /* From the background this would stop us. */
    if (changed || !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &before) < 0)
        return;
    raw = before;
    cfmakeraw(&raw);
    if (!registered)
        registered = atexit(tty_end) == 0;
    changed = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void tty_end(void)
{
    if (changed)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    changed = false;
}

static void note_size(int number)
{
    (void)number; /* only wakes poll */
}

int tty_watch_size(void)
{
    struct sigaction action = {.sa_handler = note_size};
    int fd = isatty(STDOUT_FILENO) ? STDOUT_FILENO : isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
    sigemptyset(&action.sa_mask);
    if (fd >= 0)
        sigaction(SIGWINCH, &action, NULL);
    return fd;
}
