/* See census.h. */
#include "sandbox/launch/census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

enum { INIT = 1 };

/* As the kernel gives them. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short len;
    unsigned char type;
    char name[];
};

/* Calls `each` with every name in a directory that is a number. */
static void each_number(int dir, void (*each)(void *user, pid_t number), void *user)
{
    _Alignas(8) char bytes[1 << 14];
    ssize_t n;
    lseek(dir, 0, SEEK_SET);
    while ((n = syscall(SYS_getdents64, dir, bytes, sizeof(bytes))) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(bytes + at);
            at += entry->len;
            if (entry->name[0] >= '0' && entry->name[0] <= '9')
                each(user, (pid_t)strtol(entry->name, NULL, 10));
        }
    }
}

/* Reads a small file below /proc; the text ends with a NUL. Empty when the process is gone. */
static size_t read_proc(int dir, const char *path, char *ret, size_t size)
{
    FD_CLEANUP int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n;
    while (fd >= 0 && len < size - 1 && (n = read(fd, ret + len, size - 1 - len)) > 0)
        len += (size_t)n;
    ret[len] = '\0';
    return len;
}

static size_t read_of(const struct census *c, pid_t pid, const char *file, char *ret, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
    return read_proc(c->proc, path, ret, size);
}

/* --- who is there ------------------------------------------------------------------------- */

static void add(void *user, pid_t pid)
{
    struct census *c = user;
    if ((c->root == 0 && pid == INIT) || (c->ours && pid == c->ours))
        return;
    if (c->count < CENSUS_MAX)
        c->pids[c->count] = pid;
    c->count++;
}

struct children {
    struct census *c;
    pid_t pid;
};

static void add_children_of_thread(void *user, pid_t thread)
{
    struct children *of = user;
    char path[64], text[8192];
    snprintf(path, sizeof(path), "%d/task/%d/children", (int)of->pid, (int)thread);
    read_proc(of->c->proc, path, text, sizeof(text));
    char *at = text, *end;
    for (long pid; (pid = strtol(at, &end, 10)) > 0 && end != at; at = end)
        add(of->c, (pid_t)pid);
}

static void add_children(struct census *c, pid_t pid)
{
    struct children of = {c, pid};
    char path[32];
    snprintf(path, sizeof(path), "%d/task", (int)pid);
    FD_CLEANUP int threads = openat(c->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (threads >= 0)
        each_number(threads, add_children_of_thread, &of);
}

/* The list grows while it is gone through, so children's children come too. */
static void add_descendants(struct census *c)
{
    add_children(c, c->root);
    for (size_t i = 0; i < c->count && i < CENSUS_MAX; i++)
        add_children(c, c->pids[i]);
}

size_t census_take(struct census *c)
{
    c->count = 0;
    if (c->root)
        add_descendants(c);
    else
        each_number(c->proc, add, c);
    size_t count = c->count;
    if (c->count > CENSUS_MAX)
        c->count = CENSUS_MAX;
    return count;
}

/* --- what they use ------------------------------------------------------------------------ */

static uint64_t kilobytes(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* Whether the process was not there at the last reading; `at` goes through its sorted list. */
static bool is_new(const struct census *c, pid_t pid, size_t *at)
{
    while (*at < c->read_count && c->read_pids[*at] < pid)
        (*at)++;
    return *at == c->read_count || c->read_pids[*at] != pid;
}

static void add_use(const struct census *c, pid_t pid, bool new, struct census_use *use)
{
    static long ticks;
    char text[2048];
    if (!ticks)
        ticks = sysconf(_SC_CLK_TCK);
    read_of(c, pid, "stat", text, sizeof(text));
    /* The name may hold anything, brackets too; behind the last one there are only numbers. */
    const char *at = strrchr(text, ')');
    enum { USER = 14, SYSTEM, USER_WAITED, SYSTEM_WAITED };
    uint64_t cpu = 0;
    if (new &&at && strncmp(at, ") R", 3) == 0)
        use->new_running++;
    for (int field = 3; at && field <= SYSTEM_WAITED; field++) {
        at = strchr(at + 1, ' ');
        if (!at)
            return;
        if (field >= USER)
            cpu += strtoull(at, NULL, 10);
    }
    use->cpu_ms += cpu * 1000 / (uint64_t)ticks;
    if (pid == INIT)
        return;
    /* The tables of its pages may be more than the pages. */
    static const char *const counted[] = {"\nVmRSS:", "\nVmPTE:", "\nVmSwap:"};
    read_of(c, pid, "status", text, sizeof(text));
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        use->memory_bytes += kilobytes(text, counted[i]);
}

struct census_use census_read(struct census *c)
{
    struct census_use use = {0};
    size_t at = 0;
    if (c->root == 0)
        add_use(c, INIT, false, &use);
    for (size_t i = 0; i < c->count; i++)
        add_use(c, c->pids[i], is_new(c, c->pids[i], &at), &use);
    memcpy(c->read_pids, c->pids, c->count * sizeof(c->pids[0]));
    c->read_count = c->count;
    return use;
}

struct census_memory census_memory(const struct census *c)
{
    struct census_memory memory = {0};
    char text[2048];
    for (size_t i = 0; i < c->count; i++) {
        read_of(c, c->pids[i], "status", text, sizeof(text));
        memory.own_bytes += kilobytes(text, "\nVmPTE:");
        /* Who cannot be looked into counts with all that it has. */
        uint64_t all = kilobytes(text, "\nVmRSS:") + kilobytes(text, "\nVmSwap:");
        if (!read_of(c, c->pids[i], "smaps_rollup", text, sizeof(text)))
            memory.own_bytes += all;
        memory.own_bytes += kilobytes(text, "\nPss_Anon:") + kilobytes(text, "\nSwapPss:");
        memory.shared_bytes += kilobytes(text, "\nPss_Shmem:");
    }
    return memory;
}

/*
 * A line of maps: FROM-TO RIGHTS OFFSET DEVICE INODE NAME. Such memory is a file of the kernel's
 * own with a name that no mount can have.
 */
struct segments {
    uint64_t inodes[4096]; /* seen; when full, one that comes twice counts twice */
    size_t count;
    uint64_t bytes;
};

static void add_mapping(struct segments *s, const char *line)
{
    char *at;
    uint64_t from = strtoull(line, &at, 16);
    uint64_t to = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
    for (int field = 0; field < 3 && at; field++) /* rights, offset, device */
        at = strchr(at + 1, ' ');
    uint64_t inode = at ? strtoull(at + 1, NULL, 10) : 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->inodes[i] == inode)
            return;
    }
    if (s->count < sizeof(s->inodes) / sizeof(s->inodes[0]))
        s->inodes[s->count++] = inode;
    s->bytes += to > from ? to - from : 0;
}

uint64_t census_shared_mapped(const struct census *c)
{
    static struct segments segments;
    segments.count = 0;
    segments.bytes = 0;
    for (size_t i = 0; i < c->count; i++) {
        char path[32], line[4200];
        snprintf(path, sizeof(path), "%d/maps", (int)c->pids[i]);
        int fd = openat(c->proc, path, O_RDONLY | O_CLOEXEC);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
        while (f && fgets(line, sizeof(line), f)) {
            if (strstr(line, " /dev/zero (deleted)"))
                add_mapping(&segments, line);
        }
        if (f)
            fclose(f);
        else if (fd >= 0)
            close(fd);
    }
    return segments.bytes;
}

/* --- disk --------------------------------------------------------------------------------- */

struct open_files {
    int dir;
    uint64_t bytes;
};

static void add_nameless(void *user, pid_t number)
{
    struct open_files *files = user;
    char name[16];
    struct stat st;
    snprintf(name, sizeof(name), "%d", (int)number);
    /* The kernel follows such a link to the file itself; nothing is opened. */
    if (fstatat(files->dir, name, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
        files->bytes += (uint64_t)st.st_blocks * 512;
}

uint64_t census_nameless(struct census *c)
{
    struct open_files files = {0};
    for (size_t i = 0; i < c->count; i++) {
        char path[32];
        snprintf(path, sizeof(path), "%d/fd", (int)c->pids[i]);
        files.dir = openat(c->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (files.dir >= 0) {
            each_number(files.dir, add_nameless, &files);
            close(files.dir);
        } else {
            c->blind = c->blind || errno == EACCES;
        }
    }
    return files.bytes;
}

uint64_t census_written(struct census *c)
{
    static const char field[] = "\nwrite_bytes: ";
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->count; i++) {
        char text[512];
        errno = 0;
        if (!read_of(c, c->pids[i], "io", text, sizeof(text)) && errno == EACCES)
            c->blind = true;
        const char *line = strstr(text, field);
        bytes += line ? strtoull(line + strlen(field), NULL, 10) : 0;
    }
    return bytes;
}
