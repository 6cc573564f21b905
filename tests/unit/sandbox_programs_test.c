/* What a launcher says of programs: every size is checked, and texts have their end. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "sandbox/sandbox.h"
#include "tap.h"

static int pair[2];

static void send_with(struct wire_program message, const char *bytes, size_t len, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec parts[] = {{.iov_base = &message, .iov_len = sizeof(message)},
                            {.iov_base = (char *)bytes, .iov_len = len}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof(control.room);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    }
    if (sendmsg(pair[1], &m, 0) < 0)
        printf("# cannot send\n");
}

static int receive(struct arena *arena, struct sandbox_program *ret)
{
    arena_init(arena, &allocator_libc, 1 << 24);
    return sandbox_read_program(pair[0], arena, ret);
}

/* A sound message, to be made unsound by one thing each. */
static const struct wire_program sound = {.kind = WIRE_PROGRAM_STARTED,
                                          .id = 1,
                                          .flags = WIRE_PROGRAM_WAITS,
                                          .name_len = 2,
                                          .path_len = 2,
                                          .words_len = 5,
                                          .file_count = 1,
                                          .word = {WIRE_PROGRAM_ITSELF}};
static const char bytes[] = "/a/baa\0bb"; /* name, path, words; the last has no end */

static void test_sound(void)
{
    struct arena arena;
    struct sandbox_program p;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    send_with(sound, bytes, 9, fd);
    tap_number(receive(&arena, &p), 1, "a sound message is taken");
    tap_check(strcmp(p.name, "/a") == 0 && strcmp(p.path, "/b") == 0, "its texts");
    tap_check(p.argc == 2 && strcmp(p.argv[0], "aa") == 0 && strcmp(p.argv[1], "bb") == 0,
              "its words, the last without an end, too");
    tap_check(p.file_count == 1 && fcntl(p.files[0], F_GETFD) == FD_CLOEXEC, "its file");
    sandbox_release_program(&p);
    arena_release(&arena);
    struct wire_program ends = {.kind = WIRE_PROGRAM_ENDED, .end_count = 1, .ends = {{7, 256}}};
    send_with(ends, "", 0, -1);
    tap_check(receive(&arena, &p) == 1 && !p.started && p.end_count == 1 && p.ends[0].id == 7,
              "an end");
    arena_release(&arena);
    close(fd);
}

static void refuse(struct wire_program message, size_t len, const char *what)
{
    static const char room[WIRE_PROGRAM_BYTES_MAX + 100];
    struct arena arena;
    struct sandbox_program p;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    send_with(message, len == 9 ? bytes : room, len, fd);
    tap_check(receive(&arena, &p) < 0, "%s", what);
    arena_release(&arena);
    close(fd);
}

static void test_unsound(void)
{
    struct wire_program m = sound;
    refuse(m, 8, "fewer bytes than it says");
    refuse(m, 12, "more bytes than it says");
    refuse(m, WIRE_PROGRAM_BYTES_MAX + 50, "more than a message may have");
    m.name_len = UINT32_MAX;
    refuse(m, 9, "a length that wraps");
    m = sound;
    m.words_len = UINT32_MAX - 3;
    refuse(m, 9, "words that wrap");
    m = sound;
    m.file_count = WIRE_PROGRAM_FILES + 1;
    refuse(m, 9, "more files than there is room for");
    m.file_count = 2;
    refuse(m, 9, "more files than have come");
    m.file_count = 0;
    refuse(m, 9, "none, though it waits");
    m = sound;
    m.end_count = WIRE_PROGRAM_ENDS + 1;
    refuse(m, 9, "more ends than there is room for");
    m = sound;
    m.kind = 17;
    refuse(m, 9, "an unknown kind");
    m = sound;
    m.word[0] = 3;
    refuse(m, 9, "its first file is not its own");
    m = sound;
    m.flags |= WIRE_PROGRAM_DARK;
    refuse(m, 9, "one that may not be looked at, with texts");
    if (send(pair[1], "x", 1, 0) == 1) {
        struct arena arena;
        struct sandbox_program p;
        tap_check(receive(&arena, &p) < 0, "a message without its head");
        arena_release(&arena);
    }
}

int main(void)
{
    struct arena arena;
    struct sandbox_program p;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return 1;
    test_sound();
    test_unsound();
    close(pair[1]);
    tap_number(receive(&arena, &p), 0, "the end is the end");
    arena_release(&arena);
    return tap_done();
}
