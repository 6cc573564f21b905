/*
 * What the launcher says of programs that are started; see sandbox.h. The launcher is ours, but it
 * speaks of what the inside has made: every size is checked, and every text has its end.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/sandbox.h"

enum {
    /* The kernel lets nobody have more: three quarters of the usual stack. */
    WORDS_BYTES_MAX = 8 << 20,
    WORDS_MAX = 1 << 20,
    FDS_MAX = WIRE_PROGRAM_FILES + 1,
};

struct received {
    struct wire_program message;
    char bytes[WIRE_PROGRAM_BYTES_MAX];
    size_t len; /* of the bytes */
    int fds[FDS_MAX];
    size_t fd_count;
    bool lost; /* there was no room for descriptors */
};

static void close_all(struct received *r)
{
    while (r->fd_count)
        close(r->fds[--r->fd_count]);
}

/* 1, 0 at the end, negative for an error. */
static int receive(int socket, struct received *r)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec parts[] = {{.iov_base = &r->message, .iov_len = sizeof(r->message)},
                            {.iov_base = r->bytes, .iov_len = sizeof(r->bytes)}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;
    /* A launcher that ended without reading all is told first, once; what it said comes after. */
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n <= 0)
        return n < 0 ? -errno : 0;
    r->fd_count = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
            if (r->fd_count < FDS_MAX)
                r->fds[r->fd_count++] = fd;
            else
                close(fd);
        }
    }
    r->lost = message.msg_flags & MSG_CTRUNC;
    if ((size_t)n < sizeof(r->message) || message.msg_flags & MSG_TRUNC) {
        close_all(r);
        return -EBADMSG;
    }
    r->len = (size_t)n - sizeof(r->message);
    return 1;
}

static bool is_sound(const struct received *r)
{
    const struct wire_program *m = &r->message;
    const uint32_t lens[] = {m->name_len, m->path_len, m->script_len};
    size_t sum = m->words_len;
    if (m->words_len > WIRE_PROGRAM_WORDS_BYTES)
        return false;
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        if (lens[i] > WIRE_PROGRAM_NAME_MAX)
            return false;
        sum += lens[i];
    }
    if (sum != r->len)
        return false;
    if (m->end_count > WIRE_PROGRAM_ENDS)
        return false;
    if (m->kind == WIRE_PROGRAM_ENDED)
        return r->len == 0;
    size_t fds = m->file_count + ((m->flags & WIRE_PROGRAM_CUT) != 0);
    if (m->kind != WIRE_PROGRAM_STARTED || m->file_count > WIRE_PROGRAM_FILES)
        return false;
    if (m->flags & WIRE_PROGRAM_DARK)
        return r->len == 0 && fds == 0;
    if (m->words_len == 0)
        return false;
    if (!(m->flags & WIRE_PROGRAM_WAITS))
        return m->file_count == 0;
    return m->file_count >= 1 && m->word[0] == WIRE_PROGRAM_ITSELF &&
           (r->lost || fds == r->fd_count);
}

/* The whole list of arguments, from the kernel's own file. */
static const char *read_all(struct arena *arena, int fd, size_t *ret_len)
{
    char *bytes = NULL;
    size_t len = 0, size = 0;
    for (;;) {
        if (len == size) {
            size_t wider = size ? 4 * size : 4 * (size_t)WIRE_PROGRAM_WORDS_BYTES;
            char *more = wider > WORDS_BYTES_MAX ? NULL : arena_alloc(arena, wider);
            if (!more)
                return NULL;
            if (len)
                memcpy(more, bytes, len);
            bytes = more;
            size = wider;
        }
        ssize_t n = read(fd, bytes + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return NULL;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return bytes;
}

static int split_words(struct arena *arena, const char *bytes, size_t len,
                       struct sandbox_program *ret)
{
    size_t count = 0;
    for (const char *at = bytes; at < bytes + len && count < WORDS_MAX; count++)
        at += strnlen(at, (size_t)(bytes + len - at)) + 1;
    const char **words = arena_alloc_array(arena, count + 1, sizeof(*words));
    char *copy = arena_copy(arena, bytes, len); /* and the last one ends, too */
    if (!words || !copy)
        return -ENOMEM;
    ret->argc = 0;
    for (char *at = copy; at < copy + len && ret->argc < count; at += strlen(at) + 1)
        words[ret->argc++] = at;
    ret->argv = words;
    return ret->argc ? 0 : -EBADMSG;
}

static int take(struct received *r, struct arena *arena, struct sandbox_program *ret)
{
    const struct wire_program *m = &r->message;
    *ret = (struct sandbox_program){
        .started = m->kind == WIRE_PROGRAM_STARTED,
        .waits = m->flags & WIRE_PROGRAM_WAITS,
        .dark = m->flags & WIRE_PROGRAM_DARK || r->lost,
        .alone = m->flags & WIRE_PROGRAM_ALONE,
        .id = m->id,
        .before = m->before,
        .end_count = m->end_count,
        .name = "",
        .path = "",
        .script = "",
    };
    memcpy(ret->ends, m->ends, m->end_count * sizeof(m->ends[0]));
    if (!ret->started || ret->dark)
        return 0;
    const char *at = r->bytes;
    ret->name = arena_copy(arena, at, m->name_len);
    at += m->name_len;
    ret->path = arena_copy(arena, at, m->path_len);
    at += m->path_len;
    ret->script = arena_copy(arena, at, m->script_len);
    at += m->script_len;
    size_t len = m->words_len;
    const char *words = m->flags & WIRE_PROGRAM_CUT && r->fd_count > m->file_count
                            ? read_all(arena, r->fds[m->file_count], &len)
                            : at;
    if (!ret->name || !ret->path || !ret->script || !words)
        return -ENOMEM;
    int failure = split_words(arena, words, len, ret);
    for (size_t i = 0; failure == 0 && i < m->file_count; i++) {
        ret->files[i] = r->fds[i];
        ret->word[i] = m->word[i];
        r->fds[i] = -1;
        ret->file_count++;
    }
    return failure;
}

int sandbox_read_program(int programs, struct arena *arena, struct sandbox_program *ret)
{
    struct received r;
    int failure = receive(programs, &r);
    if (failure <= 0)
        return failure;
    failure = is_sound(&r) ? take(&r, arena, ret) : -EBADMSG;
    if (failure < 0 && failure != -EBADMSG) {
        /* It cannot be held, and so not be judged. */
        *ret = (struct sandbox_program){.started = true,
                                        .waits = r.message.flags & WIRE_PROGRAM_WAITS,
                                        .dark = true,
                                        .id = r.message.id,
                                        .before = r.message.before,
                                        .name = "",
                                        .path = "",
                                        .script = ""};
        failure = 0;
    }
    for (size_t i = 0; i < r.fd_count; i++)
        fd_close(&r.fds[i]);
    return failure < 0 ? failure : 1;
}

void sandbox_release_program(struct sandbox_program *program)
{
    while (program->file_count)
        close(program->files[--program->file_count]);
}

int sandbox_tell_interest(int programs, const struct wire_interest *interest)
{
    ssize_t n;
    do
        n = send(programs, interest, sizeof(*interest), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int sandbox_answer_program(int programs, uint32_t id, bool runs)
{
    const struct wire_program_answer answer = {
        .id = id, .answer = runs ? WIRE_PROGRAM_GO : WIRE_PROGRAM_KILL};
    ssize_t n;
    do
        n = send(programs, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}
