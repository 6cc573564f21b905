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
#include "cli/cli.h"
#include "cli/kept.h"

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

/* The name in "uid 1000 (ada)", or the number. */
static const char *default_name(struct arena *arena)
{
    const char *user = asking_user(arena, getuid());
    const char *open = user ? strchr(user, '(') : NULL;
    return open ? arena_copy(arena, open + 1, strlen(open) - 2)
                : arena_format(arena, "uid-%u", (unsigned)getuid());
}

int passphrase_set(const char *wanted_name, const char *file)
{
    char passphrase[PASSPHRASE_MAX + 1];
    const char *state = kept_state_dir();
    struct note_signer signer;
    struct arena arena;
    struct err e = {0};
    struct buf key;
    arena_init(&arena, &allocator_libc, 1 << 16);
    buf_init(&key, &allocator_libc, 1 << 12);
    const char *name = wanted_name ? wanted_name : default_name(&arena);
    int r = state && name ? passphrase_read("new passphrase: ", file, true, passphrase, &e)
                          : err_set(&e, -ENOTDIR, "HOME is not set, so there is no place for it");
    if (r == 0) {
        r = approver_make(state, name, passphrase, &signer, &e);
        passphrase_forget(passphrase);
    }
    if (r == 0)
        r = note_key_write(&signer.public, &key);
    memset(&signer, 0, sizeof(signer));
    __asm__ volatile("" ::"r"(&signer) : "memory");
    if (r < 0) {
        cli_complain("approve: %s", e.message);
    } else {
        struct buf out;
        buf_init(&out, &allocator_libc, 1 << 14);
        buf_append_format(&out,
                          "# Answers count only if they are signed with this key. In "
                          "/etc/nacre/config.yaml no\n"
                          "# other file can change it; in your own, whoever can write there can.\n"
                          "approvals:\n  approver: %s\n  key: \"%s\"\n",
                          name, key.data);
        cli_print_buf(&out);
    }
    buf_release(&key);
    arena_release(&arena);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}
