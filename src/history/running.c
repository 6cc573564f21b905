/* See running.h. */
#include "history/running.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

static int open_file(const char *state, int flags)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/running", state);
    if (len < 0 || (size_t)len >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, flags | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

int running_begin(const char *state, uint64_t intent, int *ret_fd, struct err *e)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)intent, .l_len = 1};
    FD_CLEANUP int fd = open_file(state, O_RDWR | O_CREAT);
    if (fd < 0)
        return err_errno(e, fd, "cannot open '%s/running'", state);
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return err_errno(e, -errno, "cannot lock '%s/running'", state);
    *ret_fd = fd_steal(&fd);
    return 0;
}

bool running_is(const char *state, uint64_t intent)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)intent, .l_len = 1};
    FD_CLEANUP int fd = open_file(state, O_RDWR);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
