/* See content.h. */
#include "changes/content.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/fs_hash.h"

enum { CHUNK = 1 << 17 };

/* Where the next data begins; `size` where there is none. File systems without holes say `at`. */
static off_t next_data(int fd, off_t at, off_t size)
{
    off_t data = lseek(fd, at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size : at;
    return data < size ? data : size;
}

static ssize_t read_at(int fd, char *bytes, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, bytes + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int content_equal(int a, int b)
{
    struct stat x, y;
    if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
        return -errno;
    if (x.st_size != y.st_size)
        return 0;
    char *bytes = malloc((size_t)CHUNK * 2);
    if (!bytes)
        return -ENOMEM;
    int r = 1;
    for (off_t at = 0; r == 1 && at < x.st_size;) {
        off_t in_a = next_data(a, at, x.st_size), in_b = next_data(b, at, x.st_size);
        at = in_a < in_b ? in_a : in_b;
        if (at >= x.st_size)
            break;
        ssize_t n = read_at(a, bytes, CHUNK, at), m = read_at(b, bytes + CHUNK, CHUNK, at);
        if (n < 0 || m < 0)
            r = (int)(n < 0 ? n : m);
        else if (n != m || memcmp(bytes, bytes + CHUNK, (size_t)n) != 0)
            r = 0;
        else if (n == 0)
            break;
        at += n > 0 ? n : 0;
    }
    free(bytes);
    return r;
}

int content_hash(int fd, unsigned char ret[SHA256_BYTES])
{
    return fs_hash_file(fd, ret, NULL);
}
