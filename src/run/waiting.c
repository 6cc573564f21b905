/* See waiting.h. */
#include "run/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

enum { PROCESSES_MAX = 64, DEPTH_MAX = 64, TEXT_MAX = 4096 };

struct look {
    unsigned count;
    bool reads; /* somebody waits for standard input */
    bool moves; /* somebody runs, or waits for something else */
    uint64_t used;
};

static bool read_text(pid_t pid, const char *name, char ret[static TEXT_MAX])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, TEXT_MAX - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Its state must be sleep, it must be alone (no threads), and what it does is a call that waits. */
static void look_at(pid_t pid, bool is_first, struct look *l)
{
    char text[TEXT_MAX], state;
    uint64_t user, system;
    long threads;
    /* Behind the name, which may hold anything: state, … utime and stime, … number of threads. */
    const char *rest = read_text(pid, "stat", text) ? strrchr(text, ')') : NULL;
    if (!rest || sscanf(rest,
                        ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
                        " %*s %*s %*s %*s %ld",
                        &state, &user, &system, &threads) != 4) {
        l->moves = true;
        return;
    }
    l->used += user + system;
    if (state == 'Z')
        return;
    long call;
    unsigned long first;
    bool seen = read_text(pid, "syscall", text);
    if (is_first && !seen)
        return; /* init lets nobody look, and does only what others make it do */
    bool known =
        state == 'S' && threads == 1 && seen && sscanf(text, "%ld %lx", &call, &first) == 2;
    if (known && call == SYS_read && first == STDIN_FILENO)
        l->reads = true;
    else if (!known || (call != SYS_wait4 && call != SYS_waitid))
        l->moves = true;
}

static void look_below(pid_t pid, unsigned depth, struct look *l)
{
    char name[64], text[TEXT_MAX];
    snprintf(name, sizeof(name), "task/%d/children", (int)pid);
    if (!read_text(pid, name, text))
        return; /* it has none */
    for (char *at = text, *end; l->count < PROCESSES_MAX; at = end) {
        pid_t child = (pid_t)strtol(at, &end, 10);
        if (end == at || child <= 0)
            return;
        l->count++;
        look_at(child, depth == 0, l);
        if (depth < DEPTH_MAX)
            look_below(child, depth + 1, l);
    }
    l->moves = true; /* too many to be sure */
}

bool waiting_for_input(pid_t launcher, struct waiting *w)
{
    struct look l = {0};
    if (launcher > 0)
        look_below(launcher, 0, &l);
    bool same = l.used == w->used;
    w->used = l.used;
    return l.reads && !l.moves && same;
}
