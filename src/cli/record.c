/* See record.h. */
#include "cli/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "history/when.h"

enum { LONG_MS = 700, EVERY_MS = 100 };

void record_progress_start(struct record_progress *p, const char *what)
{
    *p = (struct record_progress){
        .what = what, .start_ms = clock_monotonic_ms(), .terminal = isatty(STDERR_FILENO)};
}

int record_progress_show(void *progress, uint64_t done, uint64_t all)
{
    struct record_progress *p = progress;
    uint64_t now = clock_monotonic_ms();
    if (p->terminal && all && now - p->start_ms > LONG_MS && now - p->shown_ms > EVERY_MS) {
        char line[128];
        int len = snprintf(line, sizeof(line), "\rnacre: %s %3" PRIu64 " %%", p->what,
                           done >= all ? 100 : (uint64_t)((double)done / (double)all * 100));
        fd_write_all(STDERR_FILENO, line, (size_t)len);
        p->shown_ms = now;
    }
    return 0;
}

void record_progress_end(struct record_progress *p)
{
    static const char erase[] = "\r\033[K";
    if (p->shown_ms)
        fd_write_all(STDERR_FILENO, erase, sizeof(erase) - 1);
    p->shown_ms = 0;
}

int record_open(const char *command, struct history **ret)
{
    const char *state = kept_state_dir();
    struct record_progress progress;
    struct err e = {0};
    if (!state) {
        cli_complain("%s: HOME is not set, so there is no state directory", command);
        return -ENOTDIR;
    }
    record_progress_start(&progress, "reading the ledger");
    const struct history_options options = {.progress = record_progress_show, .user = &progress};
    int r = history_open(state, &options, ret, &e);
    record_progress_end(&progress);
    if (r < 0 && r != -ENOENT)
        cli_complain("%s: %s", command, e.message);
    return r;
}

int record_read_file(const char *path, struct buf *out, struct err *e)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    char piece[1 << 14];
    ssize_t n = -1;
    if (fd < 0)
        return err_errno(e, -errno, "cannot open '%s'", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        buf_append(out, piece, (size_t)n);
    if (n < 0)
        return err_errno(e, -errno, "cannot read '%s'", path);
    return out->failed ? err_errno(e, out->failed, "'%s'", path) : 0;
}

bool record_parse_when(const char *command, const char *option, const char *text, int64_t *ret)
{
    if (!text || when_parse(text, clock_utc_ms(), ret) == 0)
        return true;
    cli_complain("%s: --%s is a time such as 2h, 3d, 2026-01-31 or 2026-01-31T12:00:00Z, not '%s'",
                 command, option, text);
    return false;
}
