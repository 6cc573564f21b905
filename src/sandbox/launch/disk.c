/*
 * What the tree writes to the host's file systems. The kernel keeps no such account, so the free
 * space is looked at first, which costs nothing. It may be others who use it up; so when more is
 * gone than the tree may write, a process of the guard's own goes through what is writable and
 * counts what changed since the start.
 *
 * The inside can make a directory that we cannot read, and files without a name. The first is taken
 * for too much, since so much is gone; the second are found with the processes that hold them, or
 * else by what was seen to be written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/guard.h"

enum { DEPTH_MAX = 256, SPARE_LEAST = 1 << 30, SPARE_TIMES = 8 };

struct count {
    uint64_t bytes, inodes;
    bool blind; /* there was a place where we could not look */
};

void disk_begin(struct disk *d, const struct handover *h)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    d->start_s = now.tv_sec;
    for (size_t i = 0; i < h->disk_count; i++) {
        struct statfs fs;
        if (fstatfs(h->disks[i], &fs) < 0)
            continue;
        d->start[d->count].bytes = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
        d->start[d->count].inodes = fs.f_ffree;
        d->roots[d->count++] = h->disks[i];
    }
}

/* --- the walk, in a process of its own ----------------------------------------------------- */

static void walk(int dir, dev_t device, int64_t since, unsigned depth, struct count *c)
{
    DIR *stream = depth < DEPTH_MAX ? fdopendir(dir) : NULL;
    if (!stream) {
        close(dir);
        c->blind = true;
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        struct stat st;
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            fstatat(dirfd(stream), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != device)
            continue;
        if (st.st_ctim.tv_sec >= since) {
            c->bytes += (uint64_t)st.st_blocks * 512;
            c->inodes++;
        }
        if (!S_ISDIR(st.st_mode))
            continue;
        int below = openat(dirfd(stream), name,
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (below >= 0)
            walk(below, device, since, depth + 1, c);
        else if (errno != ENOENT && st.st_ctim.tv_sec >= since)
            c->blind = true;
    }
    closedir(stream);
}

static void count_all(const struct disk *d, struct count *c)
{
    for (size_t i = 0; i < d->count; i++) {
        struct stat st = {0};
        bool is_file = fstat(d->roots[i], &st) == 0 && S_ISREG(st.st_mode);
        int dir = is_file ? -1 : openat(d->roots[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (is_file)
            c->bytes += (uint64_t)st.st_blocks * 512;
        else if (dir < 0)
            c->blind = true;
        else
            walk(dir, st.st_dev, d->start_s, 0, c);
    }
}

static void start_walker(struct disk *d)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        struct count count = {0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_DFL);
        count_all(d, &count);
        _exit(write(ends[1], &count, sizeof(count)) == sizeof(count) ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    d->walker = pid;
    d->result = ends[0];
}

/* --- what the guard asks -------------------------------------------------------------------- */

/* What is gone since the start, on the file system that lost most. */
static void find_gone(const struct disk *d, uint64_t *ret_bytes, uint64_t *ret_inodes)
{
    *ret_bytes = *ret_inodes = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct statfs fs;
        if (fstatfs(d->roots[i], &fs) < 0)
            continue;
        uint64_t left = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
        if (left < d->start[i].bytes && d->start[i].bytes - left > *ret_bytes)
            *ret_bytes = d->start[i].bytes - left;
        if (fs.f_ffree < d->start[i].inodes && d->start[i].inodes - fs.f_ffree > *ret_inodes)
            *ret_inodes = d->start[i].inodes - fs.f_ffree;
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Those who have died had written at least what they had when they were seen last. */
static void count_written(struct disk *d, struct census *c)
{
    uint64_t now = census_written(c);
    d->written += now > d->last_written ? now - d->last_written : 0;
    d->last_written = now;
}

void disk_look(struct disk *d, const struct budgets *budgets, struct census *c)
{
    uint64_t bytes, inodes;
    if (!budgets->disk_bytes)
        return;
    count_written(d, c);
    if (d->walker)
        return;
    find_gone(d, &bytes, &inodes);
    if (bytes > budgets->disk_bytes + d->spare_bytes ||
        inodes > budgets->disk_inodes + d->spare_inodes)
        start_walker(d);
}

bool disk_is_over(struct disk *d, const struct budgets *budgets, struct census *c,
                  uint64_t allocated_bytes)
{
    struct count count = {0};
    bool told = read(d->result, &count, sizeof(count)) == sizeof(count);
    disk_end(d);
    c->blind = false;
    uint64_t bytes, inodes;
    uint64_t explained = count.bytes + census_nameless(c);
    count_written(d, c);
    find_gone(d, &bytes, &inodes);
    /* What is gone and was not found may be ours as far as we were seen to write more than was
     * found; what was written again and again in one place is not gone. */
    uint64_t seen = d->written > allocated_bytes ? d->written : allocated_bytes;
    uint64_t hidden = least(above(bytes, explained), above(seen, explained));
    if (!told || count.blind || c->blind || explained + hidden > budgets->disk_bytes ||
        count.inodes > budgets->disk_inodes)
        return true;
    /* Others use the disk, too. What is gone now is not ours; what goes from here on may be. */
    d->spare_bytes = bytes > count.bytes ? bytes - count.bytes : 0;
    /* But not without end: a file may be where nobody can look, in a socket. */
    if (d->spare_bytes > SPARE_LEAST && d->spare_bytes / SPARE_TIMES > budgets->disk_bytes)
        return true;
    d->spare_inodes = inodes > count.inodes ? inodes - count.inodes : 0;
    return false;
}

void disk_end(struct disk *d)
{
    if (d->walker) {
        kill(d->walker, SIGKILL);
        while (waitpid(d->walker, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    d->walker = 0;
    fd_close(&d->result);
}
