/* Which jobs there are; see jobs.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "changes/listing.h"
#include "jobs/jobs.h"

enum { KEPT_S = 24 * 60 * 60 };

static void mark_ended(int dir, const char *id)
{
    char name[JOB_NAME_MAX];
    snprintf(name, sizeof(name), "%s.ended", id);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    fd_close(&fd);
}

/* A socket to which nobody answers: its supervisor died. Ids are never used again. */
static bool is_alive(int dir, const char *id)
{
    FD_CLEANUP int fd = job_connect_at(dir, id);
    if (fd == -ECONNREFUSED) {
        mark_ended(dir, id);
        unlinkat(dir, id, 0);
    }
    return fd >= 0 || (fd != -ECONNREFUSED && fd != -ENOENT);
}

int job_list(struct arena *arena, const char *state, struct job_listed **ret, size_t *ret_count,
             struct err *e)
{
    struct listing listing;
    *ret_count = 0;
    *ret = NULL;
    FD_CLEANUP int dir = job_open_dir(state, false, e);
    if (dir == -ENOENT)
        return 0;
    int r = dir < 0 ? dir : listing_read(arena, dir, ".", &listing);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list '%s/jobs'", state);
    struct job_listed *jobs = arena_alloc_array(arena, listing.count + 1, sizeof(*jobs));
    if (!jobs)
        return err_set(e, -ENOMEM, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < listing.count; i++) {
        const struct listed *item = &listing.items[i];
        char id[UUID_TEXT + 1];
        size_t len = strlen(item->name);
        snprintf(id, sizeof(id), "%.*s", UUID_TEXT, item->name);
        bool ended = len > UUID_TEXT && strcmp(item->name + UUID_TEXT, ".ended") == 0;
        if (!job_is_id(id) || (len > UUID_TEXT && !ended))
            continue;
        if (ended && item->st.st_mtime < time(NULL) - KEPT_S) {
            unlinkat(dir, item->name, 0);
            continue;
        }
        /* The mark of one that ended stands behind its socket, should both be there. */
        if (count && strcmp(jobs[count - 1].id, id) == 0)
            continue;
        memcpy(jobs[count].id, id, sizeof(id));
        jobs[count++].alive = !ended && is_alive(dir, id);
    }
    *ret = jobs;
    *ret_count = count;
    return 0;
}
