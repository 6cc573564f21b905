/* See programs.h. */
#include "sandbox/launch/programs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/fsuid.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/wire.h"

/* --- looking at one -------------------------------------------------------------------------- */

struct picture {
    struct wire_program message;
    char name[WIRE_PROGRAM_NAME_MAX];   /* by which it was started */
    char path[WIRE_PROGRAM_NAME_MAX];   /* of its file */
    char script[WIRE_PROGRAM_NAME_MAX]; /* of its script */
    char words[WIRE_PROGRAM_WORDS_BYTES];
    int fds[WIRE_PROGRAM_FILES + 1];
    size_t fd_count;
    struct stat file;
};

static int open_of(const struct programs *p, pid_t pid, const char *what, int flags)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%d/%s", (int)pid, what);
    return len < (int)sizeof(path) ? openat(p->proc, path, flags | O_CLOEXEC) : -1;
}

/* Reads until the end or until `max`; < 0: it may not be read. */
static ssize_t read_of(const struct programs *p, pid_t pid, const char *what, char *bytes,
                       size_t max)
{
    FD_CLEANUP int fd = open_of(p, pid, what, O_RDONLY);
    size_t len = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && len < max) {
        n = read(fd, bytes + len, max - len);
        if (n > 0)
            len += (size_t)n;
    }
    return n < 0 ? -1 : (ssize_t)len;
}

/* A text in its memory, which only its tracer needs no right to read. */
static size_t peek_text(pid_t pid, uint64_t address, char *ret, size_t max)
{
    size_t len = 0;
    while (len < max) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)(address + len), NULL);
        if (errno)
            break;
        for (size_t i = 0; i < sizeof(word) && len < max; i++, len++) {
            ret[len] = ((const char *)&word)[i];
            if (!ret[len])
                return len;
        }
    }
    return 0;
}

/* What the kernel told it: where its name is, and whether a loader was mapped. */
static bool read_auxiliary(const struct programs *p, pid_t pid, int file, uint64_t *ret_name,
                           bool *ret_alone)
{
    unsigned char ident[EI_NIDENT] = {0};
    char bytes[2048];
    ssize_t len = read_of(p, pid, "auxv", bytes, sizeof(bytes));
    if (len <= 0 || pread(file, ident, sizeof(ident), 0) < 0)
        return false;
    size_t size = ident[EI_CLASS] == ELFCLASS32 ? sizeof(uint32_t) : sizeof(uint64_t);
    *ret_name = 0;
    *ret_alone = true;
    for (size_t at = 0; at + 2 * size <= (size_t)len; at += 2 * size) {
        uint64_t type = 0, value = 0;
        memcpy(&type, bytes + at, size); /* little endian, as all that we are built for */
        memcpy(&value, bytes + at + size, size);
        if (type == AT_EXECFN)
            *ret_name = value;
        if (type == AT_BASE)
            *ret_alone = value == 0;
    }
    return *ret_name != 0;
}

/*
 * Everything at once, from its new stack: the arguments, and what the kernel told it. False: it is
 * laid out otherwise, or too long, and /proc has it.
 */
static bool read_stack(pid_t pid, struct picture *picture, uint64_t *ret_name, bool *ret_alone)
{
    static uint64_t stack[WIRE_PROGRAM_WORDS_BYTES / sizeof(uint64_t)];
    struct user_regs_struct registers;
    struct iovec all = {.iov_base = &registers, .iov_len = sizeof(registers)};
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all) < 0 ||
        all.iov_len != sizeof(registers))
        return false; /* of 32 bits */
#if defined(__x86_64__)
    const uint64_t top = registers.rsp;
#else
    const uint64_t top = registers.sp;
#endif
    struct iovec ours = {.iov_base = stack, .iov_len = sizeof(stack)};
    struct iovec theirs = {.iov_base = (void *)(uintptr_t)top, .iov_len = sizeof(stack)};
    ssize_t n = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);
    const size_t count = n > 0 ? (size_t)n / sizeof(uint64_t) : 0;
    if (count < 3 || stack[0] == 0 || stack[0] >= count)
        return false;
    size_t at = 1 + stack[0];
    const uint64_t first = stack[1] - top;  /* of the arguments, which lie behind each other */
    while (at + 1 < count && stack[at + 1]) /* the environment */
        at++;
    *ret_name = 0;
    *ret_alone = true;
    for (at += 2; at + 1 < count && stack[at] != AT_NULL; at += 2) {
        if (stack[at] == AT_EXECFN)
            *ret_name = stack[at + 1];
        if (stack[at] == AT_BASE)
            *ret_alone = stack[at + 1] == 0;
    }
    if (at + 1 >= count || !*ret_name || *ret_name - top >= (uint64_t)n || first >= (uint64_t)n)
        return false;
    const char *bytes = (const char *)stack, *word = bytes + first, *end = bytes + n;
    for (uint64_t i = 0; i < stack[0] && word < end; i++)
        word += strnlen(word, (size_t)(end - word)) + 1;
    const char *name = bytes + (*ret_name - top);
    size_t name_len = strnlen(name, (size_t)(end - name));
    size_t words_len = (size_t)(word - (bytes + first));
    if (word > end || name + name_len == end || !name_len || name_len >= sizeof(picture->name) ||
        words_len >= sizeof(picture->words))
        return false;
    memcpy(picture->words, bytes + first, words_len);
    memcpy(picture->name, name, name_len + 1);
    picture->message.words_len = (uint32_t)words_len;
    picture->message.name_len = (uint32_t)name_len;
    return true;
}

/* The same from /proc, for any layout and any length. */
static bool read_slowly(const struct programs *p, pid_t pid, int file, struct picture *picture,
                        bool *ret_alone)
{
    uint64_t name = 0;
    if (!read_auxiliary(p, pid, file, &name, ret_alone))
        return false;
    ssize_t len = read_of(p, pid, "cmdline", picture->words, sizeof(picture->words));
    picture->message.name_len =
        (uint32_t)peek_text(pid, name, picture->name, sizeof(picture->name) - 1);
    picture->message.words_len = len > 0 ? (uint32_t)len : 0;
    return picture->message.words_len && picture->message.name_len;
}

/* A path as the process means it. */
static int open_as(const struct programs *p, pid_t pid, const char *path)
{
    static const char own[] = "/proc/self/", descriptors[] = "/dev/fd/";
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    char other[WIRE_PROGRAM_NAME_MAX + sizeof("fd/")];
    if (strncmp(path, own, sizeof(own) - 1) == 0)
        return open_of(p, pid, path + sizeof(own) - 1, flags);
    if (strncmp(path, descriptors, sizeof(descriptors) - 1) == 0) {
        snprintf(other, sizeof(other), "fd/%s", path + sizeof(descriptors) - 1);
        return open_of(p, pid, other, flags);
    }
    /* What else leads through /proc would lead to what is ours. */
    const struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_NO_MAGICLINKS};
    if (path[0] == '/')
        return kernel_openat2(AT_FDCWD, path, &how);
    FD_CLEANUP int cwd = open_of(p, pid, "cwd", O_PATH | O_DIRECTORY);
    return cwd < 0 ? -1 : kernel_openat2(cwd, path, &how);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Keeps a file that is not the program's own; where it lies, if it is asked for. */
static void add_file(const struct programs *p, struct picture *picture, pid_t pid, const char *path,
                     int word, char ret_path[static WIRE_PROGRAM_NAME_MAX], uint32_t *ret_len)
{
    struct wire_program *m = &picture->message;
    struct stat st;
    if (m->file_count == WIRE_PROGRAM_FILES)
        return;
    FD_CLEANUP int fd = open_as(p, pid, path);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || is_same(&st, &picture->file))
        return;
    if (ret_len) {
        char link[64];
        snprintf(link, sizeof(link), "self/fd/%d", fd);
        ssize_t n = readlinkat(p->proc, link, ret_path, WIRE_PROGRAM_NAME_MAX);
        *ret_len = n > 0 ? (uint32_t)n : 0;
    }
    m->word[m->file_count++] = word;
    picture->fds[picture->fd_count++] = fd_steal(&fd);
}

/* A loader's words: the first that is no option, and those that may be an option's value. */
static void add_loaded(const struct programs *p, struct picture *picture, pid_t pid)
{
    const char *word = picture->words, *end = word + picture->message.words_len;
    bool option = true; /* before the first */
    for (int i = 0; word < end && i < WIRE_PROGRAM_WORDS_LOOKED_AT; i++) {
        bool is_option = i == 0 || word[0] == '-';
        if (!is_option)
            add_file(p, picture, pid, word, i, picture->script, NULL);
        if (!is_option && !option)
            break;
        option = i > 0 && is_option;
        word += strnlen(word, (size_t)(end - word)) + 1;
    }
}

/* What #! has put between the program and its script: scripts, too, where #! leads to #!. */
static void add_between(const struct programs *p, struct picture *picture, pid_t pid)
{
    const char *word = picture->words, *end = word + picture->message.words_len;
    for (int i = 0; word < end && i < WIRE_PROGRAM_WORDS_LOOKED_AT; i++) {
        size_t len = strnlen(word, (size_t)(end - word));
        if (len == picture->message.name_len && memcmp(word, picture->name, len) == 0)
            break;
        if (i > 0)
            add_file(p, picture, pid, word, i, picture->script, NULL);
        word += len + 1;
    }
}

/* The loader that a program names, or nothing. One of 32 bits gets no call past the filter. */
static bool read_loader(int file, char ret[static PATH_MAX])
{
    Elf64_Ehdr header = {0};
    Elf64_Phdr part = {0};
    ret[0] = '\0';
    ssize_t n = pread(file, &header, sizeof(header), 0);
    if (n < 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return n >= 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        const off_t at = (off_t)(header.e_phoff + i * sizeof(part));
        if (pread(file, &part, sizeof(part), at) != sizeof(part))
            return false;
        if (part.p_type == PT_INTERP)
            return part.p_filesz < PATH_MAX &&
                   pread(file, ret, part.p_filesz, (off_t)part.p_offset) > 0;
    }
    return true;
}

/* By its number: which mount it was opened on, not every kernel tells. */
static bool is_mapped(const struct programs *p, pid_t pid, const struct stat *st)
{
    char maps[16384];
    ssize_t len = read_of(p, pid, "maps", maps, sizeof(maps) - 1);
    maps[len > 0 ? len : 0] = '\0';
    for (const char *line = maps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned long long number;
        if (sscanf(line, "%*s %*s %*s %*s %llu", &number) == 1 && number == st->st_ino)
            return true;
    }
    return false;
}

/* Any file can be named as a loader, and runs first then. The system's own do not, for a rule. */
static bool add_loader(const struct programs *p, struct picture *picture, pid_t pid)
{
    static const char *const usual[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                                        "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"};
    char path[PATH_MAX] = "";
    struct stat st;
    const uint32_t at = picture->message.file_count;
    if (!read_loader(picture->fds[0], path))
        return false;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strcmp(path, usual[i]) == 0)
            return true;
    }
    if (!path[0])
        return true;
    add_file(p, picture, pid, path, WIRE_PROGRAM_LOADER, picture->script, NULL);
    return picture->message.file_count > at && fstat(picture->fds[at], &st) == 0 &&
           is_mapped(p, pid, &st);
}

static bool take_picture(const struct programs *p, pid_t pid, struct picture *picture)
{
    struct wire_program *m = &picture->message;
    uint64_t name = 0;
    bool alone = false;
    FD_CLEANUP int file = open_of(p, pid, "exe", O_RDONLY);
    char link[64];
    snprintf(link, sizeof(link), "%d/exe", (int)pid);
    ssize_t path_len = readlinkat(p->proc, link, picture->path, sizeof(picture->path));
    if (file < 0 || path_len < 0 || fstat(file, &picture->file) < 0 ||
        (!read_stack(pid, picture, &name, &alone) && !read_slowly(p, pid, file, picture, &alone)))
        return false;
    m->path_len = (uint32_t)path_len;
    m->word[m->file_count++] = WIRE_PROGRAM_ITSELF;
    picture->fds[picture->fd_count++] = fd_steal(&file);
    struct stat named;
    if (picture->name[0] != '/' || stat(picture->name, &named) < 0 ||
        !is_same(&named, &picture->file))
        add_file(p, picture, pid, picture->name, WIRE_PROGRAM_SCRIPT, picture->script,
                 &m->script_len);
    if (!add_loader(p, picture, pid))
        return false;
    if (m->script_len)
        add_between(p, picture, pid);
    if (alone) {
        m->flags |= WIRE_PROGRAM_ALONE;
        add_loaded(p, picture, pid);
    }
    if (m->words_len == sizeof(picture->words)) {
        int all = open_of(p, pid, "cmdline", O_RDONLY);
        if (all < 0)
            return false;
        m->flags |= WIRE_PROGRAM_CUT;
        picture->fds[picture->fd_count++] = all;
    }
    return true;
}

static void close_all(struct picture *picture)
{
    while (picture->fd_count)
        close(picture->fds[--picture->fd_count]);
}

/* Root's guard looks as the inside's user: that, and no right, is what makes it see. */
static void look(const struct programs *p, pid_t pid, struct picture *picture)
{
    const gid_t gid = getegid();
    const uid_t uid = geteuid();
    if (gid != p->gid)
        setfsgid(p->gid);
    if (uid != p->uid)
        setfsuid(p->uid);
    bool seen = take_picture(p, pid, picture);
    if (uid != p->uid)
        setfsuid(uid);
    if (gid != p->gid)
        setfsgid(gid);
    if (seen)
        return;
    close_all(picture);
    picture->message = (struct wire_program){.flags = WIRE_PROGRAM_DARK};
}

/* --- whether anybody cares -------------------------------------------------------------------- */

static bool is_size_known(const struct wire_interest *interest, off_t size)
{
    for (uint32_t i = 0; i < interest->size_count; i++) {
        if (interest->sizes[i] == (uint64_t)size)
            return true;
    }
    return false;
}

/* The last part of a path, of so many bytes; the case of letters does not count. */
static bool is_name_known(const struct wire_interest *interest, const char *path, size_t len)
{
    const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
    size_t name_len = len - (size_t)(name - path), known_len;
    for (const char *known = interest->names; known < interest->names + interest->names_len;
         known += known_len + 1) {
        known_len = strlen(known);
        if (known_len == name_len && strncasecmp(known, name, name_len) == 0)
            return true;
    }
    return false;
}

/* Whether a name that rules know, or one that says how it is to be read, is among its own. */
static bool has_known_name(const struct wire_interest *interest, const struct picture *picture)
{
    static const char gone[] = " (deleted)";
    const struct wire_program *m = &picture->message;
    size_t path_len = m->path_len, tail = sizeof(gone) - 1;
    if (path_len > tail && memcmp(picture->path + path_len - tail, gone, tail) == 0)
        path_len -= tail;
    const char *slash = memrchr(picture->path, '/', path_len);
    if (slash && slash[1] == 'l' && slash[2] == 'd')
        return true; /* a loader, perhaps */
    if (is_name_known(interest, picture->path, path_len) ||
        is_name_known(interest, picture->name, m->name_len) ||
        is_name_known(interest, picture->script, m->script_len))
        return true;
    /* Its own name, in front of a script whatever #! has put there, and what it may be told to run,
     * behind however many options. */
    const char *word = picture->words, *end = word + m->words_len;
    while (word < end) {
        size_t len = strnlen(word, (size_t)(end - word));
        if (is_name_known(interest, word, len))
            return true;
        word += len + 1;
    }
    return false;
}

/* The supervisor would say yes: no rule of its has anything to do with it. */
static bool is_of_no_interest(const struct programs *p, const struct picture *picture)
{
    const unsigned odd = WIRE_PROGRAM_DARK | WIRE_PROGRAM_CUT | WIRE_PROGRAM_ALONE;
    struct stat st;
    if (!p->interested || picture->message.flags & odd ||
        is_size_known(&p->interest, picture->file.st_size))
        return false;
    for (size_t i = 1; i < picture->fd_count; i++) {
        if (fstat(picture->fds[i], &st) < 0 || is_size_known(&p->interest, st.st_size))
            return false;
    }
    return !has_known_name(&p->interest, picture);
}

/* --- telling --------------------------------------------------------------------------------- */

/* size_t in glibc, and socklen_t in musl and POSIX. */
typedef __typeof__(((struct msghdr *)0)->msg_controllen) control_length;

static int send_picture(const struct programs *p, struct picture *picture)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(picture->fds))];
    } control = {0};
    struct wire_program *m = &picture->message;
    struct iovec parts[] = {
        {.iov_base = m, .iov_len = sizeof(*m)},
        {.iov_base = picture->name, .iov_len = m->name_len},
        {.iov_base = picture->path, .iov_len = m->path_len},
        {.iov_base = picture->script, .iov_len = m->script_len},
        {.iov_base = picture->words, .iov_len = m->words_len},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof(parts) / sizeof(parts[0])};
    size_t size = picture->fd_count * sizeof(int);
    if (size) {
        message.msg_control = &control;
        message.msg_controllen = (control_length)CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = (control_length)CMSG_LEN(size);
        memcpy(CMSG_DATA(header), picture->fds, size);
    }
    ssize_t n;
    do
        n = sendmsg(p->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

static enum programs_outcome wait_for_room(struct programs *p, pid_t pid)
{
    if (p->waiting_count == PROGRAMS_WAITING)
        return PROGRAMS_DIES;
    p->waiting[p->waiting_count++] = pid;
    return PROGRAMS_STOPS;
}

/* Whoever waits for an answer is killed: none will come. */
static void break_off(struct programs *p)
{
    fd_close(&p->socket);
}

static struct programs_asked *find_asked(struct programs *p, pid_t pid, uint32_t id)
{
    for (size_t i = 0; i < PROGRAMS_ASKED; i++) {
        if (p->asked[i].pid == pid && (!id || p->asked[i].id == id))
            return &p->asked[i];
    }
    return NULL;
}

static void add_ends(const struct programs *p, struct wire_program *message)
{
    memcpy(message->ends, p->ends, p->end_count * sizeof(p->ends[0]));
    message->end_count = p->end_count;
}

static enum programs_outcome show(struct programs *p, pid_t pid, uint32_t *program)
{
    static struct picture picture;
    if (p->socket < 0)
        return PROGRAMS_DIES;
    struct programs_asked *asked = find_asked(p, 0, 0);
    if (!asked)
        return wait_for_room(p, pid);
    picture.message = (struct wire_program){0};
    look(p, pid, &picture);
    const bool waits = (p->last || p->first_waits) && !is_of_no_interest(p, &picture);
    if (!waits)
        close_all(&picture);
    picture.message.kind = WIRE_PROGRAM_STARTED;
    picture.message.id = p->last + 1;
    picture.message.before = *program;
    if (waits)
        picture.message.flags |= WIRE_PROGRAM_WAITS;
    else
        picture.message.file_count = 0;
    add_ends(p, &picture.message);
    int r = send_picture(p, &picture);
    close_all(&picture);
    p->again = r == -ETOOMANYREFS || r == -ENOBUFS || r == -ENOMEM;
    if (r == -EAGAIN || p->again)
        return wait_for_room(p, pid);
    if (r < 0) {
        break_off(p);
        return PROGRAMS_DIES;
    }
    p->end_count = 0;
    *program = ++p->last;
    if (!waits)
        return PROGRAMS_GOES;
    *asked = (struct programs_asked){.id = p->last, .pid = pid};
    p->asked_count++;
    return PROGRAMS_STOPS;
}

int programs_begin(struct programs *p, bool first_waits, uid_t uid, gid_t gid)
{
    p->socket = WIRE_PROGRAMS_FD;
    p->first_waits = first_waits;
    p->uid = uid;
    p->gid = gid;
    p->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return p->proc < 0 ? -errno : 0;
}

enum programs_outcome programs_show(struct programs *p, pid_t pid, uint32_t *program, bool again)
{
    /* In their order, so that nobody waits for ever. */
    bool others = p->waiting_count && p->socket >= 0 && !again;
    return others ? wait_for_room(p, pid) : show(p, pid, program);
}

pid_t programs_next(struct programs *p)
{
    if (!p->waiting_count || (p->socket >= 0 && p->asked_count == PROGRAMS_ASKED))
        return 0;
    pid_t first = p->waiting[0];
    memmove(p->waiting, p->waiting + 1, --p->waiting_count * sizeof(p->waiting[0]));
    return first;
}

/* Only once, and only if it is whole. */
static bool take_interest(struct programs *p, const struct wire_interest *interest, ssize_t len)
{
    if (len != (ssize_t)sizeof(*interest) || p->interested ||
        interest->size_count > WIRE_INTEREST_SIZES ||
        interest->names_len > WIRE_INTEREST_NAMES_BYTES ||
        (interest->names_len && interest->names[interest->names_len - 1]))
        return false;
    p->interest = *interest;
    p->interested = true;
    return true;
}

pid_t programs_answer(struct programs *p, enum programs_outcome *ret)
{
    static union {
        struct wire_program_answer answer;
        struct wire_interest interest;
    } said;
    *ret = PROGRAMS_DIES;
    for (;;) {
        ssize_t n = p->socket < 0 ? 0 : recv(p->socket, &said, sizeof(said), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (take_interest(p, &said.interest, n))
            continue;
        const struct wire_program_answer answer = said.answer;
        if (n != (ssize_t)sizeof(answer)) {
            break_off(p);
            for (size_t i = 0; i < PROGRAMS_ASKED; i++) {
                pid_t pid = p->asked[i].pid;
                if (!pid)
                    continue;
                p->asked[i] = (struct programs_asked){0};
                p->asked_count--;
                return pid;
            }
            return 0;
        }
        for (size_t i = 0; i < PROGRAMS_ASKED; i++) {
            pid_t pid = p->asked[i].pid;
            if (!pid || p->asked[i].id != answer.id)
                continue;
            p->asked[i] = (struct programs_asked){0};
            p->asked_count--;
            *ret = answer.answer == WIRE_PROGRAM_GO ? PROGRAMS_GOES : PROGRAMS_DIES;
            return pid;
        } /* else it has died meanwhile */
    }
}

void programs_ended(struct programs *p, uint32_t program, int status)
{
    if (!program)
        return;
    p->ends[p->end_count++] = (struct wire_program_end){.id = program, .status = status};
    if (p->end_count == WIRE_PROGRAM_ENDS)
        programs_finish(p);
}

void programs_finish(struct programs *p)
{
    struct wire_program message = {.kind = WIRE_PROGRAM_ENDED};
    add_ends(p, &message);
    /* This waits for room: whoever reads there waits for nobody. */
    while (p->end_count && p->socket >= 0 &&
           send(p->socket, &message, sizeof(message), MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
    p->end_count = 0;
}

void programs_forget(struct programs *p, pid_t pid)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->waiting_count; i++) {
        if (p->waiting[i] != pid)
            p->waiting[kept++] = p->waiting[i];
    }
    p->waiting_count = kept;
    struct programs_asked *asked = find_asked(p, pid, 0);
    if (asked) {
        *asked = (struct programs_asked){0};
        p->asked_count--;
    }
}

short programs_events(const struct programs *p)
{
    if (p->socket < 0)
        return 0;
    short events = p->asked_count ? POLLIN : 0;
    if (p->waiting_count && p->asked_count < PROGRAMS_ASKED && !p->again)
        events |= POLLOUT;
    return events;
}

int programs_patience_ms(const struct programs *p)
{
    return p->waiting_count && (p->again || p->socket < 0) ? PROGRAMS_AGAIN_MS : -1;
}
