/* The way to a job, for everybody but its supervisor; see jobs.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "jobs/jobs.h"

int job_find(const char *state, const char *start, char ret_id[UUID_TEXT + 1], struct err *e)
{
    size_t found = 0, len = strlen(start);
    char id[UUID_TEXT + 1] = "";
    struct err ignored;
    FD_CLEANUP int dir = len ? job_open_dir(state, false, &ignored) : -1;
    struct names names;
    if (dir >= 0 && names_open(&names, dir) == 0) {
        for (const char *name; (name = names_next(&names));) {
            char other[UUID_TEXT + 1];
            snprintf(other, sizeof(other), "%s", name);
            if (!job_is_id(other) || strncmp(other, start, len) != 0 || strcmp(other, id) == 0)
                continue;
            memcpy(id, other, sizeof(id));
            found++;
        }
        names_close(&names);
    }
    if (found == 0 && job_is_id(start)) {
        memcpy(ret_id, start, UUID_TEXT + 1);
        return 0;
    }
    if (found != 1)
        return err_set(e, found ? -ENOTUNIQ : -ENOENT,
                       found ? "several jobs begin with '%.64s'"
                             : "no job begins with '%.64s'; `nacre ps` lists them",
                       start);
    memcpy(ret_id, id, sizeof(id));
    return 0;
}

int job_connect(const char *state, const char *id, struct err *e)
{
    FD_CLEANUP int dir = job_open_dir(state, false, e);
    int fd = dir < 0 ? dir : job_connect_at(dir, id);
    if (fd == -ENOENT || fd == -ECONNREFUSED)
        return err_set(e, -ENOENT, "job '%.8s' is not under way", id);
    return fd < 0 && dir >= 0 ? err_errno(e, fd, "cannot reach job '%.8s'", id) : fd;
}

int job_ask(int fd, enum job_kind kind, uint64_t count, const char *bytes, size_t len,
            struct err *e)
{
    struct job_message message = {.kind = kind, .count = count};
    message.len = (uint32_t)(len < JOB_PIECE_MAX ? len : JOB_PIECE_MAX);
    if (message.len)
        memcpy(message.bytes, bytes, message.len);
    ssize_t n;
    do
        n = send(fd, &message, offsetof(struct job_message, bytes) + message.len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? err_errno(e, -errno, "cannot ask the job") : 0;
}

int job_hear(int fd, struct job_message *ret, struct err *e)
{
    ssize_t n;
    do
        n = recv(fd, ret, sizeof(*ret), 0);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return 0;
    if (n < 0)
        return err_errno(e, -errno, "cannot hear the job");
    if ((size_t)n < offsetof(struct job_message, bytes) ||
        (size_t)n != offsetof(struct job_message, bytes) + ret->len)
        return err_set(e, -EPROTO, "the job's supervisor is of another version");
    return 1;
}
