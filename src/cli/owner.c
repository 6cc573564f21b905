/* See owner.h. */
#include "cli/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static struct {
    bool other;
    uid_t uid;
    gid_t gid, own_gid;
} owner;

int owner_become(const char *state, struct err *e)
{
    struct stat st;
    FD_CLEANUP int dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, -errno, "cannot open '%s'", state);
    if (st.st_uid == geteuid())
        return 0;
    if (geteuid() != 0)
        return err_set(e, -EPERM, "'%s' is another user's, and you are not root", state);
    owner.uid = st.st_uid;
    owner.gid = st.st_gid;
    owner.own_gid = getegid();
    owner.other = true;
    int r = setgroups(0, NULL) < 0 ? err_errno(e, -errno, "cannot give up the groups")
                                   : owner_suspend(false, e);
    return r < 0 ? r : 1;
}

int owner_suspend(bool self, struct err *e)
{
    if (!owner.other)
        return 0;
    /* Only root can change the group. */
    if (seteuid(0) < 0 || setegid(self ? owner.own_gid : owner.gid) < 0 ||
        (!self && seteuid(owner.uid) < 0))
        return err_errno(e, -errno, "cannot act as user %u", self ? 0 : (unsigned)owner.uid);
    return 0;
}
