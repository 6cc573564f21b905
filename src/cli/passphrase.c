/* See passphrase.h. */
#include "cli/passphrase.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

/* The first line, without its end. */
static int read_line(int fd, char ret[PASSPHRASE_MAX + 1])
{
    size_t used = 0;
    for (;;) {
        char c;
        ssize_t n = read(fd, &c, 1);
        if (n < 0 && errno == EINTR)
            return -EINTR;
        if (n < 0)
            return -errno;
        if (n == 0 || c == '\n')
            break;
        if (used == PASSPHRASE_MAX)
            return -E2BIG;
        ret[used++] = c;
    }
    ret[used] = '\0';
    return strlen(ret) == used ? 0 : -EINVAL;
}

static int ask(int tty, const char *prompt, char ret[PASSPHRASE_MAX + 1])
{
    struct termios before, quiet;
    if (tcgetattr(tty, &before) < 0)
        return -errno;
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    if (tcsetattr(tty, TCSAFLUSH, &quiet) < 0)
        return -errno;
    int r = fd_write_all(tty, prompt, strlen(prompt));
    if (r == 0)
        r = read_line(tty, ret);
    tcsetattr(tty, TCSAFLUSH, &before);
    fd_write_all(tty, "\n", 1);
    return r;
}

int passphrase_read(const char *prompt, const char *file, bool twice, char ret[PASSPHRASE_MAX + 1],
                    struct err *e)
{
    char again[PASSPHRASE_MAX + 1];
    prctl(PR_SET_DUMPABLE, 0);
    if (file) {
        FD_CLEANUP int fd = open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
        int r = fd < 0 ? -errno : read_line(fd, ret);
        return r < 0 ? err_errno(e, r, "cannot read a passphrase from '%s'", file) : 0;
    }
    FD_CLEANUP int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (tty < 0)
        return err_set(e, -ENOTTY,
                       "a passphrase is asked for at a terminal, or read with --passphrase-file");
    int r = ask(tty, prompt, ret);
    if (r == 0 && twice) {
        r = ask(tty, "once more: ", again);
        if (r == 0 && strcmp(ret, again) != 0)
            r = err_set(e, -EINVAL, "these were two different passphrases");
        else if (r < 0)
            err_errno(e, r, "cannot read a passphrase");
        passphrase_forget(again);
        return r;
    }
    return r < 0 ? err_errno(e, r, "cannot read a passphrase") : 0;
}

void passphrase_forget(char text[PASSPHRASE_MAX + 1])
{
    sodium_memzero(text, PASSPHRASE_MAX + 1);
}
