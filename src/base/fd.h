/*
 * Descriptors: closed by themselves at the end of a scope, handed over with fd_steal, born
 * close-on-exec.
 */
#ifndef NACRE_BASE_FD_H
#define NACRE_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Closes and sets to -1; errno is kept. A descriptor below 0 is left alone. */
void fd_close(int *fd);

#define FD_CLEANUP __attribute__((cleanup(fd_close)))

static inline int fd_steal(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

/* All of it, across short writes and interrupts. Returns 0 or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t len);

/*
 * One write to a pipe whose reader may be gone: returns the bytes written, or a negative errno;
 * -EPIPE comes without the signal, whatever the process does with SIGPIPE.
 */
ssize_t fd_write_quietly(int fd, const void *bytes, size_t len);

/* A memory file that holds `bytes`, sealed against every change, close-on-exec. */
int fd_sealed_memory(const char *name, const void *bytes, size_t len);

/*
 * Whether the process that opened the other end of a Unix socket has our user, and lives in the
 * same user, pid, mount and network namespaces. What cannot be seen counts as no.
 */
bool fd_peer_is_like_us(int socket);

/*
 * Passes descriptors on a Unix socket that keeps messages apart, with one byte; there may be none.
 * 0 or a negative errno.
 */
enum { FD_PASSED_MAX = 128 };
int fd_send(int socket, const int *fds, size_t count);

/* Takes them, close-on-exec: their number, -EAGAIN where none is to be waited for, -EMFILE where
 * there is no room for them, or -EPIPE. */
int fd_receive(int socket, int *ret_fds, size_t max, bool wait);

/* A close-on-exec copy of `fd` that is at least `least`, so that it survives dup2 to low numbers.
 */
int fd_copy_above(int fd, int least);

#endif
