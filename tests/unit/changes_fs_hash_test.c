/*
 * The hash of a directory: known contents, updates against walks from scratch, files that change
 * under our eyes, failing memory.
 */
#include "changes/fs_hash.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "changes/fs_hash_cache.h"
#include "fs_hash_play.h"

/* --- contents -------------------------------------------------------------------------------- */

static const char *file_hash(const char *path)
{
    static char hex[SHA256_HEX + 1];
    unsigned char hash[SHA256_BYTES];
    struct err e;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fs_hash_file(fd, hash, &e) < 0)
        return "failed";
    sha256_hex(hash, hex);
    return hex;
}

static void put_zeros(const char *path, size_t count)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    static const char zeros[1 << 16];
    for (; count; count -= count < sizeof(zeros) ? count : sizeof(zeros))
        fd_write_all(fd, zeros, count < sizeof(zeros) ? count : sizeof(zeros));
}

static void put_hole(const char *path, off_t size, off_t at, const char *bytes)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (ftruncate(fd, size) < 0 || (bytes && pwrite(fd, bytes, strlen(bytes), at) < 0))
        printf("# cannot write '%s'\n", path);
}

static void test_content(void)
{
    static const struct {
        size_t size;
        const char *hash;
    } zeros[] = {
        {65536, "ee80d601c2dae39ab3aef76fd9b30e123e38b188890f2dd5541fe2d7312328c7"},
        {65537, "154c66c355e6f482e64081d5bd6d262996020b2a1f6d80c0eb4be3c414af0ece"},
        {16777216, "d5f0e404861ee91b2035919614ddae74039eef44b99736583262e0542b340d42"},
    };
    put("f", "abc");
    tap_text(file_hash("f"), "3d1c2e4c98259a1be1d845225e05048429c6ad314ad0ddf9395e066603e490ad",
             "a small file");
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        put_zeros("f", zeros[i].size);
        tap_text(file_hash("f"), zeros[i].hash, "zeros");
        put_hole("f", (off_t)zeros[i].size, 0, NULL);
        tap_text(file_hash("f"), zeros[i].hash, "the same as a hole");
    }
    put_hole("f", 4194305, 4194304, "x");
    tap_text(file_hash("f"), "05c191af5df4a843ba9237066a2671ca865105b64af99a80f8dcff98816926b1",
             "a hole, then a byte");

    const off_t large = (off_t)1 << 40;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    put_hole("f", large, large / 2 + 12345, "here");
    char first[SHA256_HEX + 1];
    snprintf(first, sizeof(first), "%s", file_hash("f"));
    put_hole("f", large, large / 2 + 12346, "here");
    tap_check(strcmp(first, file_hash("f")) != 0, "a terabyte: where its data stands counts");
    put_hole("f", large + 1, large / 2 + 12345, "here");
    tap_check(strcmp(first, file_hash("f")) != 0, "a terabyte: the size counts");
    clock_gettime(CLOCK_MONOTONIC, &end);
    tap_check(end.tv_sec - start.tv_sec < 20, "a sparse terabyte is not read");
    unlink("f");

    struct err e;
    unsigned char hash[SHA256_BYTES];
    FD_CLEANUP int fd = open(".", O_RDONLY | O_CLOEXEC);
    tap_number(fs_hash_file(fd, hash, &e), -EINVAL, "a directory is no file");
}

/* --- what counts ----------------------------------------------------------------------------- */

static void test_counts(void)
{
    mkdir("d", 0755);
    tap_text(scratch_hash("d"), "0626e0fe47f9755c1e3dd09574d4facc883b3d3e849c698e8d6bbef14259a49b",
             "an empty directory");
    put("d/a", "");
    tap_text(scratch_hash("d"), "95876ed063b4a81779cb93d20c2d797e27ae31681b26a9d8635c1bbccd123f87",
             "an empty file");
    char before[SHA256_HEX + 1];
    snprintf(before, sizeof(before), "%s", scratch_hash("d"));
    rename("d", "e");
    utimensat(AT_FDCWD, "e/a", (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 2}}, 0);
    tap_text(scratch_hash("e"), before, "times and the directory's name do not count");
    chmod("e/a", 04644);
    tap_check(strcmp(scratch_hash("e"), before) != 0, "set-user-id counts");
    chmod("e/a", 0644);
    chmod("e", 01755);
    tap_check(strcmp(scratch_hash("e"), before) != 0, "the directory's own mode counts");
    chmod("e", 0755);
    rename("e/a", "e/\xff\n");
    tap_check(strcmp(scratch_hash("e"), before) != 0, "names count, any bytes");
    unlink("e/\xff\n");
    mkfifo("e/a", 0644);
    char fifo[SHA256_HEX + 1];
    snprintf(fifo, sizeof(fifo), "%s", scratch_hash("e"));
    tap_check(fifo[0] && strcmp(fifo, before) != 0, "a FIFO is not waited for, and no file");
    unlink("e/a");
    tap_check(mknod("e/a", S_IFSOCK | 0644, 0) == 0 && strcmp(scratch_hash("e"), fifo) != 0,
              "a socket is another thing");
    unlink("e/a");
    tap_check(symlink("/nowhere", "e/a") == 0 && scratch_hash("e")[0], "a link is not followed");
    remove_all("e");
}

static void test_find(void)
{
    struct fs_hash *f;
    struct fs_hash_entry entry;
    struct fs_hash_sums sums;
    struct err e;
    unsigned char content[SHA256_BYTES];
    mkdir("d", 0755);
    mkdir("d/sub", 0750);
    mkdir("d/skip", 0755);
    put("d/sub/a", "hello");
    put("d/skip/b", "x");
    put("d/sub/skip", "x");
    static const char *const exclude[] = {"skip", "sub/skip", NULL};
    int r = open_with(&(struct fs_hash_options){.exclude = exclude}, "d", &f, &e);
    tap_number(r, 0, "with exclusions");
    if (r < 0)
        return;
    FD_CLEANUP int fd = open("d/sub/a", O_RDONLY | O_CLOEXEC);
    fs_hash_file(fd, content, NULL);
    tap_check(fs_hash_find(f, "sub/a", 5, &entry) == 0 && entry.type == FS_HASH_FILE &&
                  entry.size_bytes == 5 && entry.mode == 0644 && !entry.unread &&
                  memcmp(entry.hash, content, SHA256_BYTES) == 0,
              "an entry has the hash of its content");
    tap_check(fs_hash_find(f, "sub", 3, &entry) == 0 && entry.type == FS_HASH_DIRECTORY &&
                  entry.mode == 0750,
              "a directory is found");
    tap_number(fs_hash_find(f, "", 0, &entry), 0, "the root too");
    tap_number(fs_hash_find(f, "skip/b", 6, &entry), -ENOENT, "what is excluded is not there");
    tap_number(fs_hash_find(f, "sub/a/b", 7, &entry), -ENOENT, "nothing is below a file");
    fs_hash_sum(f, &sums);
    tap_check(sums.files == 1 && sums.bytes == 5, "files and bytes are counted");
    put("d/skip/b", "changed");
    tap_number(update_one(f, "skip/b", &e), 0, "an excluded path may change");
    remove_all("d/skip");
    unlink("d/sub/skip");
    tap_check(is_scratch(f, "d"), "excluded is absent");
    static const char *const bad[] = {"/a", "a/", "a//b", ".", "..", "a/../b", "./a"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *const list[] = {bad[i], NULL};
        struct fs_hash *none = NULL;
        tap_check(update_one(f, bad[i], &e) == -EINVAL &&
                      open_with(&(struct fs_hash_options){.exclude = list}, "d", &none, &e) ==
                          -EINVAL,
                  "no path: '%s'", bad[i]);
    }
    const char *nul = "a\0b";
    tap_number(fs_hash_update(f, &nul, &(size_t){3}, 1, &e), -EINVAL, "no path: one with a NUL");
    tap_check(is_scratch(f, "d"), "and nothing was done");
    fs_hash_close(f);
    remove_all("d");
}

/* --- updates --------------------------------------------------------------------------------- */

static void test_updates(void)
{
    struct fs_hash *f;
    struct err e;
    mkdir("d", 0755);
    mkdir("d/big", 0755);
    mkdir("d/x", 0755);
    mkdir("d/t", 0755);
    if (tap_number(open_with(&(struct fs_hash_options){0}, "d", &f, &e), 0, "opened") == false)
        return;
    bool same = true;
    unsigned made = 0, rounds = 0, large = 0;
    for (; same && made < 10000; rounds++) {
        struct changes c = {.count = 0};
        for (unsigned left = 1 + pick(CHANGES_MAX / 2); left; left--, made++)
            change_something(&c);
        const char *paths[2 * CHANGES_MAX];
        size_t lengths[2 * CHANGES_MAX];
        for (size_t i = 0; i < c.count; i++) {
            paths[i] = c.paths[i];
            lengths[i] = strlen(c.paths[i]);
        }
        int r = fs_hash_update(f, paths, lengths, c.count, &e);
        same = r == 0 && is_scratch(f, "d");
        if (r < 0)
            printf("# %s\n", e.message);
        struct fs_hash_entry entry;
        unsigned names = 0;
        for (unsigned i = 0; same && i < 130; i++) {
            char path[PATH_ROOM];
            int len = snprintf(path, sizeof(path), "big/n%u", i);
            names += fs_hash_find(f, path, (size_t)len, &entry) == 0;
        }
        large += names > SHELF_MAX;
    }
    tap_check(same, "10,000 random changes, the hash of a new walk after each few");
    printf("# %u changes in %u rounds, %u of them with a directory that is split\n", made, rounds,
           large);
    tap_check(large > 0 && large < rounds, "in a directory that is split and joined again");

    /* Down to nothing, by which all splits are joined again. */
    for (unsigned i = 0; same && i < 130; i++) {
        char path[PATH_ROOM];
        snprintf(path, sizeof(path), "d/big/n%u", i);
        remove_all(path);
        same = update_one(f, path + 2, &e) == 0 && is_scratch(f, "d");
    }
    tap_check(same, "until nothing is left");
    fs_hash_close(f);
    remove_all("d");
}

/* --- what moves, what is deep, what is forbidden --------------------------------------------- */

static pid_t start(void (*work)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            work();
    }
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void write_often(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open("d/a", O_WRONLY | O_CLOEXEC);
    if (pwrite(fd, "xy", 2, (off_t)pick(8 << 20)) < 0)
        _exit(1);
}

static void make_and_remove(void)
{
    char path[32], other[32];
    snprintf(path, sizeof(path), "d/n%u", pick(50));
    snprintf(other, sizeof(other), "d/n%u/n", pick(50));
    if (mkdir(path, 0755) < 0 && rmdir(path) < 0)
        unlink(path);
    mkdir(other, 0755);
    put(other, "x");
}

static void test_moving(void)
{
    struct fs_hash *f = NULL;
    struct err e;
    mkdir("d", 0755);
    put_zeros("d/a", 8 << 20);
    pid_t writer = start(write_often);
    rest();
    int r = open_with(&(struct fs_hash_options){0}, "d", &f, &e);
    tap_check(r == -EBUSY || r == 0, "a file that is always written to: %s", r ? e.message : "");
    stop(writer);
    if (r == 0)
        fs_hash_close(f);
    if (open_with(&(struct fs_hash_options){0}, "d", &f, &e) < 0)
        return;
    writer = start(make_and_remove);
    unsigned busy = 0, good = 0, wrong = 0;
    for (unsigned i = 0; i < 50; i++) {
        r = update_one(f, i % 2 ? "" : "n7", &e);
        (r == 0 ? good++ : r == -EBUSY ? busy++ : wrong++);
        if (r < 0 && r != -EBUSY)
            printf("# %s\n", e.message);
    }
    stop(writer);
    tap_check(wrong == 0, "a directory that always changes is read or busy");
    printf("# %u read, %u busy\n", good, busy);
    tap_check(update_one(f, "", &e) == 0 && is_scratch(f, "d"), "H1: and right in the end");
    fs_hash_close(f);
    remove_all("d");
}

static int descend(int fd, unsigned count)
{
    for (; fd >= 0 && count; count--) {
        int next = -1;
        if (mkdirat(fd, "x", 0755) == 0)
            next = openat(fd, "x", O_PATH | O_DIRECTORY | O_CLOEXEC);
        fd_close(&fd);
        fd = next;
    }
    return fd;
}

static void test_deep(void)
{
    struct rlimit old, few = {.rlim_cur = 64};
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    mkdir("d", 0755);
    FD_CLEANUP int fd = descend(open("d", O_PATH | O_DIRECTORY | O_CLOEXEC), FS_HASH_DEPTH_MAX);
    struct fs_hash *f = NULL;
    struct err e;
    int r = open_with(&(struct fs_hash_options){0}, "d", &f, &e);
    tap_number(r, 0, "H4: a deep directory with few descriptors");
    if (r == 0) {
        static char path[2 * FS_HASH_DEPTH_MAX + 1];
        for (size_t i = 0; i < FS_HASH_DEPTH_MAX; i++)
            memcpy(path + 2 * i, "x/", 2);
        path[sizeof(path) - 1] = 'n';
        size_t len = sizeof(path);
        const char *at = path;
        FD_CLEANUP int file = openat(fd, "n", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        tap_check(file >= 0 && fs_hash_update(f, &at, &len, 1, &e) == 0 && is_scratch(f, "d"),
                  "a change at the bottom");
        fs_hash_close(f);
    }
    mkdirat(fd, "y", 0755);
    r = open_with(&(struct fs_hash_options){0}, "d", &f, &e);
    tap_number(r, -ENAMETOOLONG, "one more is too deep");
    tap_check(strstr(e.message, "/x/x/y'") != NULL, "and the message tells the end of the path");
    setrlimit(RLIMIT_NOFILE, &old);
    remove_all("d");
}

/* As somebody who may not read everything: root may. */
static int check_unreadable(void)
{
    struct fs_hash *f;
    struct fs_hash_entry entry;
    struct err e = {0};
    int failed = 0;
    failed |= open_with(&(struct fs_hash_options){0}, "d", &f, &e) != -EACCES ||
                      !strstr(e.message, "'closed")
                  ? 1
                  : 0;
    if (open_with(&(struct fs_hash_options){.mark_unreadable = true}, "d", &f, &e) < 0)
        return failed | 2;
    failed |= fs_hash_find(f, "closed", 6, &entry) < 0 || !entry.unread ? 4 : 0;
    failed |= fs_hash_find(f, "closed-dir", 10, &entry) < 0 || !entry.unread ? 8 : 0;
    failed |= fs_hash_find(f, "list-only/a", 11, &entry) != -ENOENT ? 16 : 0;
    failed |= fs_hash_find(f, "open", 4, &entry) < 0 || entry.unread ? 32 : 0;
    chmod("d/closed", 0600);
    chmod("d/list-only", 0700);
    failed |= update_one(f, "closed", &e) < 0 || update_one(f, "list-only", &e) < 0 ? 64 : 0;
    failed |= fs_hash_find(f, "list-only/a", 11, &entry) < 0 || entry.unread ? 64 : 0;
    chmod("d/list-only", 0400);
    failed |= update_one(f, "list-only/a", &e) < 0 || fs_hash_find(f, "list-only", 9, &entry) < 0 ||
                      !entry.unread || entry.mode != 0400
                  ? 128
                  : 0;
    fs_hash_close(f);
    return failed;
}

static void test_unreadable(void)
{
    mkdir("d", 0755);
    put("d/open", "x");
    put("d/closed", "x");
    mkdir("d/closed-dir", 0755);
    mkdir("d/list-only", 0755);
    put("d/list-only/a", "x");
    bool root = geteuid() == 0;
    for (unsigned i = 0; root && i < 4; i++) {
        static const char *const all[] = {"d/closed", "d/closed-dir", "d/list-only", "d/open"};
        if (chown(all[i], 65534, 65534) < 0)
            printf("# cannot give away '%s'\n", all[i]);
    }
    chmod("d/closed", 0);
    chmod("d/closed-dir", 0);
    chmod("d/list-only", 0400);
    pid_t pid = fork();
    if (pid == 0) {
        if (root && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
            _exit(255);
        _exit(check_unreadable());
    }
    int status = -1;
    waitpid(pid, &status, 0);
    tap_number(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
               "unreadable: an error with the path, or a marker");
    chmod("d/closed-dir", 0700);
    chmod("d/list-only", 0700);
    remove_all("d");
}

static void test_edited_meanwhile(void)
{
    const struct fs_hash_options cached = {.cache_path = "cache"};
    make_tree(3000);
    rest();
    hash_with(&cached, "d");
    bool same = true;
    for (unsigned i = 0; same && i < 20; i++) {
        pid_t writer = start(make_and_remove);
        for (unsigned k = 0; k < 5; k++)
            hash_with(&cached, "d");
        stop(writer);
        same = strcmp(hash_with(&cached, "d"), scratch_hash("d")) == 0;
        remove_all("d/n1");
    }
    tap_check(same, "H1: edits while it is checked are seen, then or later");
    unlink("cache");
    remove_all("d");
}

/* --- failing memory -------------------------------------------------------------------------- */

/* Fails once, after `left` allocations, and counts what is still held. */
struct failing {
    long left;
    long held;
    bool failed;
};

static void *failing_resize(void *user, void *old, size_t size)
{
    struct failing *f = user;
    if (size == 0) {
        f->held -= old != NULL;
        free(old);
        return NULL;
    }
    if (f->left == 0) {
        f->left = NEVER;
        f->failed = true;
        return NULL;
    }
    f->left -= f->left > 0;
    f->held += old == NULL;
    return realloc(old, size);
}

static void test_memory(void)
{
    make_tree(70);
    rest();
    char right[SHA256_HEX + 1], hex[SHA256_HEX + 1];
    snprintf(right, sizeof(right), "%s", scratch_hash("d"));
    bool good = true;
    long turns = 0;
    for (bool failed = true; good && failed; turns++) {
        struct failing memory = {.left = turns};
        const struct allocator allocator = {failing_resize, &memory};
        const struct fs_hash_options options = {.cache_path = turns % 2 ? "cache" : "cache2",
                                                .allocator = &allocator};
        struct fs_hash *f;
        struct err e;
        if (turns % 4 == 0)
            unlink("cache2");
        int r = open_with(&options, "d", &f, &e);
        if (r == 0) {
            fs_hash_root(f, hex);
            good = strcmp(hex, right) == 0;
            fs_hash_close(f);
        } else {
            good = r == -ENOMEM && memory.failed;
        }
        good = good && memory.held == 0;
        failed = memory.failed;
    }
    tap_check(good && turns > 50 && turns < 5000, "opening: each failing allocation is reported");

    good = true;
    turns = 0;
    for (bool failed = true; good && failed; turns++) {
        struct failing memory = {.left = NEVER};
        const struct allocator allocator = {failing_resize, &memory};
        struct fs_hash *f;
        struct err e;
        if (open_with(&(struct fs_hash_options){.allocator = &allocator}, "d", &f, &e) < 0)
            break;
        /* One directory is joined, another made and split. */
        remove_all("d/sub/n1");
        rename("d/sub/n2", "d/sub/m2");
        memory.left = turns;
        static const char *const paths[] = {"sub/n1", "sub/n2", "sub/m2", "new", "sub"};
        static const size_t lengths[] = {6, 6, 6, 3, 3};
        rename("d/sub/deeper", "d/new");
        int r = fs_hash_update(f, paths, lengths, 5, &e);
        struct fs_hash_entry entry;
        if (r < 0)
            good = r == -ENOMEM && fs_hash_find(f, "", 0, &entry) == -ESTALE &&
                   fs_hash_save(f, &e) < 0;
        failed = memory.failed;
        memory.left = NEVER;
        rename("d/new", "d/sub/deeper");
        rename("d/sub/m2", "d/sub/n2");
        put("d/sub/n1", "1");
        good = good && update_one(f, "", &e) == 0 && is_scratch(f, "d");
        fs_hash_close(f);
        good = good && memory.held == 0;
    }
    tap_check(good && turns > 5 && turns < 5000, "updating: and the next call makes it good");
    unlink("cache");
    unlink("cache2");
    remove_all("d");
}

int main(void)
{
    static void (*const tests[])(void) = {
        test_content,    test_counts,           test_find,   test_updates, test_moving, test_deep,
        test_unreadable, test_edited_meanwhile, test_memory, NULL};
    return play(tests);
}
