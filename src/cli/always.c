/* See always.h. */
#include "cli/always.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "cli/record.h"

/* The file that the rule goes to, by its real name: what a link leads to stays where it is. */
static int find_file(struct arena *arena, const struct question *q, const char *user_dir,
                     struct always *ret, struct err *e)
{
    char real[PATH_MAX];
    if (!user_dir)
        return err_set(e, -ENOTDIR, "HOME is not set, so there is no configuration to write to");
    const char *path = q->agent ? arena_format(arena, "%s/agents/%s.yaml", user_dir, q->agent)
                                : arena_format(arena, "%s/config.yaml", user_dir);
    if (!path)
        return err_set(e, -ENOMEM, "out of memory");
    if (realpath(path, real)) {
        ret->file = arena_copy(arena, real, strlen(real));
        return ret->file ? 0 : err_set(e, -ENOMEM, "out of memory");
    }
    if (errno != ENOENT)
        return err_errno(e, -errno, "%s", path);
    if (q->agent)
        return err_set(e, -ENOTSUP,
                       "the agent '%.64s' is not one of yours, whose file could have the rule: %s "
                       "is not there",
                       q->agent, path);
    int r = store_make_dirs(user_dir);
    if (r < 0)
        return err_errno(e, r, "cannot make '%s'", user_dir);
    ret->file = path;
    ret->made = true;
    return 0;
}

/* Whether the question's text is allowed now. `config` stands for the user's file; NULL: itself. */
static int check_allowed(struct arena *arena, const struct question *q, const char *config,
                         struct err *e)
{
    const struct place_options place = {.workspace = q->workspace, .cwd = q->directory};
    const struct policy_options policy = {
        .agent = q->agent, .profile = q->profile, .config = config};
    struct setting setting;
    struct verdict verdict;
    const struct shell_tree *tree;
    int r = decide_open(arena, &place, &policy, NULL, &setting, e);
    if (r == 0)
        r = engine_decide(&setting.decider, arena, q->canonical, q->canonical_len, NULL, &verdict,
                          &tree, e);
    if (r == 0 && verdict.decision != DECISION_ALLOW)
        r = err_set(e, -ENOTSUP, "with these rules it would still be asked about: %.200s",
                    verdict.reasons ? verdict.reasons->reason : verdict.rule);
    return r;
}

/* A file that is to take the place of another, by its name. */
static int write_beside(const char *temporary, const char *bytes, size_t len, mode_t mode)
{
    if (!temporary)
        return -ENOMEM;
    FD_CLEANUP int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, bytes, len);
    if (r == 0 && (fchmod(fd, mode & 07777) < 0 || fsync(fd) < 0))
        r = -errno;
    return r;
}

int always_write(struct arena *arena, const struct question *q, struct always *ret, struct err *e)
{
    struct always done = {0};
    struct policy_request request;
    const struct policy_options none = {0};
    struct buf before, after, next;
    struct stat st = {.st_mode = 0600};
    char unique[UUID_TEXT + 1];
    int r = rule_patterns(arena, q, &done.patterns, &done.count, e);
    if (r == 0)
        r = policy_options_request(arena, &none, NULL, q->workspace, &request, e);
    if (r == 0)
        r = find_file(arena, q, request.user_dir, &done, e);
    if (r < 0 || (r = uuid_new(unique)) < 0)
        return r;
    buf_init(&before, &allocator_libc, YAML_BYTES_MAX);
    buf_init(&after, &allocator_libc, YAML_BYTES_MAX);
    if (!done.made)
        r = record_read_file(done.file, &before, e);
    if (r == 0 && !done.made && stat(done.file, &st) < 0)
        r = err_errno(e, -errno, "%s", done.file);
    if (r == 0)
        buf_append(&after, before.data, before.len);
    for (size_t i = 0; r == 0 && i < done.count; i++) {
        buf_init(&next, &allocator_libc, YAML_BYTES_MAX);
        r = rule_add(done.file, after.data, after.len, done.patterns[i], &next, &done.lines[i], e);
        buf_release(&after);
        after = next;
    }
    const char *temporary = arena_format(arena, "%s.%s", done.file, unique);
    if (r == 0 && !temporary)
        r = err_set(e, -ENOMEM, "out of memory");
    if (r == 0 && temporary) {
        r = write_beside(temporary, after.data, after.len, st.st_mode);
        if (r < 0)
            err_errno(e, r, "cannot write '%s'", temporary);
        /* A user's configuration can be tried before it is one; an agent's has its name only. */
        if (r == 0 && !q->agent)
            r = check_allowed(arena, q, temporary, e);
        if (r == 0 && rename(temporary, done.file) < 0)
            r = err_errno(e, -errno, "cannot write '%s'", done.file);
        if (r < 0)
            unlink(temporary);
    }
    if (r == 0 && q->agent && (r = check_allowed(arena, q, NULL, e)) < 0) {
        int back = write_beside(temporary, before.data, before.len, st.st_mode);
        if (back == 0 && temporary && rename(temporary, done.file) < 0)
            back = -errno;
        if (back < 0) {
            struct err why = *e;
            err_set(e, back, "%.200s; and '%.200s' could not be put back", why.message, done.file);
        }
    }
    buf_release(&before);
    buf_release(&after);
    if (r == 0)
        *ret = done;
    return r;
}
