/* The lock file; see lockfile.h. */
#include "ledger/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/crc32c.h"

/* A waiter looks by itself after this time: whoever would have woken it may have died. */
enum { WAIT_MS = 20, TRIES = 20 };

int lockfile_open(int dir, bool create, bool read_only, struct lockfile *ret, struct err *e)
{
    int flags = read_only ? O_RDONLY : create ? O_RDWR | O_CREAT : O_RDWR;
    FD_CLEANUP int fd = openat(dir, LOCKFILE_FILE, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "cannot open the lock file");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "the lock file is not a file");
    if ((size_t)st.st_size < sizeof(struct lockfile_state)) {
        if (read_only)
            return -ENOENT;
        /* Zeros are a state that says nothing. Blocks, not a hole: storing to a hole of a full
         * disk would end the process. */
        int r = posix_fallocate(fd, 0, sizeof(struct lockfile_state));
        if (r != 0)
            return err_errno(e, -r, "cannot make the lock file");
    }
    void *shared = mmap(NULL, sizeof(struct lockfile_state),
                        read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return err_errno(e, -errno, "cannot map the lock file");
    ret->shared = shared;
    ret->fd = fd_steal(&fd);
    ret->read_only = read_only;
    return 0;
}

void lockfile_close(struct lockfile *s)
{
    if (s->shared)
        munmap(s->shared, sizeof(*s->shared));
    s->shared = NULL;
    fd_close(&s->fd);
}

static int set_lock(const struct lockfile *s, enum lockfile_lock lock, int command, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = lock, .l_len = 1};
    int r;
    do
        r = fcntl(s->fd, command, &range);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int lockfile_lock(const struct lockfile *s, enum lockfile_lock lock)
{
    /* Held for microseconds, as a rule: to sleep at once would cost more than the wait. */
    for (int tries = 0; tries < TRIES; tries++) {
        int r = lockfile_try_lock(s, lock);
        if (r != -EAGAIN)
            return r;
        sched_yield();
    }
    return set_lock(s, lock, F_OFD_SETLKW, F_WRLCK);
}

int lockfile_try_lock(const struct lockfile *s, enum lockfile_lock lock)
{
    int r = set_lock(s, lock, F_OFD_SETLK, F_WRLCK);
    return r == -EACCES ? -EAGAIN : r;
}

void lockfile_unlock(const struct lockfile *s, enum lockfile_lock lock)
{
    set_lock(s, lock, F_OFD_SETLK, F_UNLCK);
}

bool lockfile_is_current(const struct lockfile *s)
{
    struct stat st;
    return fstat(s->fd, &st) == 0 && st.st_nlink > 0;
}

static uint64_t with_check(uint64_t size)
{
    return size | (uint64_t)(crc32c(0, &size, sizeof(size)) & 0xFF) << 56;
}

static uint64_t without_check(uint64_t value)
{
    uint64_t size = value & (((uint64_t)1 << 56) - 1);
    return with_check(size) == value ? size : 0;
}

uint64_t lockfile_get_size(const uint64_t *field)
{
    return without_check(__atomic_load_n(field, __ATOMIC_ACQUIRE));
}

void lockfile_set_size(uint64_t *field, uint64_t size)
{
    __atomic_store_n(field, with_check(size), __ATOMIC_RELEASE);
}

void lockfile_raise_size(uint64_t *field, uint64_t size)
{
    uint64_t is = __atomic_load_n(field, __ATOMIC_ACQUIRE);
    while (without_check(is) < size &&
           !__atomic_compare_exchange_n(field, &is, with_check(size), false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
}

void lockfile_wait(struct lockfile *s, uint32_t epoch)
{
    const struct timespec most = {.tv_nsec = WAIT_MS * 1000000L};
    __atomic_add_fetch(&s->shared->waiters, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, &s->shared->epoch, FUTEX_WAIT, epoch, &most, NULL, 0);
    __atomic_sub_fetch(&s->shared->waiters, 1, __ATOMIC_ACQ_REL);
}

void lockfile_wake(struct lockfile *s)
{
    __atomic_add_fetch(&s->shared->epoch, 1, __ATOMIC_ACQ_REL);
    if (__atomic_load_n(&s->shared->waiters, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &s->shared->epoch, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
