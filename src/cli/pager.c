/* See pager.h. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"

static bool is_installed(const char *name)
{
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        char path[PATH_MAX];
        size_t len = strcspn(rest, ":");
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, rest, name);
        /* Never one of the current directory, which may be the workspace. */
        if (rest[0] == '/' && n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0)
            return true;
        rest += len + (rest[len] == ':');
    }
    return false;
}

/* What to run, as text for the shell; NULL: nothing. */
static const char *pager_text(void)
{
    const char *wanted = getenv("PAGER"), *terminal = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !terminal || !terminal[0] || strcmp(terminal, "dumb") == 0)
        return NULL;
    if (wanted)
        return wanted[0] && strcmp(wanted, "cat") != 0 ? wanted : NULL;
    return is_installed("less") ? "less -R -F -X" : NULL;
}

__attribute__((noreturn)) static void become_pager(const struct pager *p, int input,
                                                   const char *text)
{
    sigaction(SIGINT, &p->interrupt, NULL);
    sigaction(SIGQUIT, &p->quit, NULL);
    setenv("LESS", "FRX", 0); /* for a $PAGER without options */
    if (dup2(input, STDIN_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

void pager_start(struct pager *p)
{
    *p = (struct pager){.fd = -1, .pid = -1};
    const char *text = pager_text();
    int ends[2];
    if (!text || pipe2(ends, O_CLOEXEC) < 0)
        return;
    FD_CLEANUP int input = ends[0];
    FD_CLEANUP int output = ends[1];
    /* An interrupt is for the pager, which would otherwise fight with the shell for the terminal.
     */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &p->interrupt);
    sigaction(SIGQUIT, &ignore, &p->quit);
    p->pid = fork();
    if (p->pid == 0)
        become_pager(p, input, text);
    if (p->pid > 0) {
        p->fd = fd_steal(&output);
        return;
    }
    sigaction(SIGINT, &p->interrupt, NULL);
    sigaction(SIGQUIT, &p->quit, NULL);
}

int pager_print(struct pager *p, const char *bytes, size_t len)
{
    if (p->fd < 0)
        return cli_print(bytes, len);
    while (len && !p->left) {
        ssize_t n = fd_write_quietly(p->fd, bytes, len);
        p->left = n < 0 && n != -EINTR;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return p->left ? -EPIPE : 0;
}

int pager_finish(struct pager *p, int status)
{
    if (p->fd < 0)
        return cli_finish(status, 1);
    fd_close(&p->fd);
    int ended = 0;
    while (waitpid(p->pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGINT, &p->interrupt, NULL);
    sigaction(SIGQUIT, &p->quit, NULL);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) >= 126)
        return 1; /* the shell could not start it, and has said so */
    return p->left ? 0 : status;
}
