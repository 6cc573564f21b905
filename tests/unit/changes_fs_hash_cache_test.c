/*
 * What is remembered of a directory's hash: caches that lie or are broken, times that say nothing,
 * and the check whether all is as the cache has it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "changes/fs_hash_cache.h"
#include "fs_hash_play.h"
#include "ledger/crc32c.h"

/* --- the cache ------------------------------------------------------------------------------- */

static size_t get_file(const char *path, char *ret, size_t room)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, ret, room);
    return n < 0 ? 0 : (size_t)n;
}

static void put_file(const char *path, const char *bytes, size_t len)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fd_write_all(fd, bytes, len);
}

static void test_cache(void)
{
    static char bytes[CACHE_ROOM], changed_bytes[CACHE_ROOM];
    const struct fs_hash_options cached = {.cache_path = "cache"};
    make_tree(80);
    rest();
    char right[SHA256_HEX + 1];
    snprintf(right, sizeof(right), "%s", scratch_hash("d"));
    tap_text(hash_with(&cached, "d"), right, "without a cache yet");
    struct stat st;
    tap_check(stat("cache", &st) == 0 && (st.st_mode & 07777) == 0600, "it is there, and private");
    tap_text(hash_with(&cached, "d"), right, "with it");
    size_t len = get_file("cache", bytes, sizeof(bytes));
    tap_check(len > 6400 && len < sizeof(bytes), "it holds the entries");

    bool same = true;
    for (size_t i = 0; same && i < len; i += i < 200 ? 1 : 37) {
        memcpy(changed_bytes, bytes, len);
        changed_bytes[i] = (char)(changed_bytes[i] ^ 0x10);
        put_file("cache", changed_bytes, len);
        same = strcmp(hash_with(&cached, "d"), right) == 0;
        put_file("cache", bytes, i);
        same = same && strcmp(hash_with(&cached, "d"), right) == 0;
    }
    tap_check(same, "H2: damaged and cut caches count as none");

    /* One that lies, with a good checksum: its word shows that nothing else was asked. */
    enum { ROOT_AT = 32 };
    memcpy(changed_bytes, bytes, len);
    changed_bytes[ROOT_AT] ^= 1;
    uint32_t sum = crc32c(0, changed_bytes, len - sizeof(sum));
    memcpy(changed_bytes + len - sizeof(sum), &sum, sizeof(sum));
    put_file("cache", changed_bytes, len);
    tap_check(strcmp(hash_with(&cached, "d"), right) != 0, "a good one is believed");
    put_file("cache", changed_bytes, len);
    chmod("cache", 0622);
    tap_text(hash_with(&cached, "d"), right, "H2: not one that others could write");
    unlink("cache");
    put_file("other", changed_bytes, len);
    if (symlink("other", "cache") == 0)
        tap_text(hash_with(&cached, "d"), right, "H2: not through a link");
    unlink("other");
    unlink("cache");
    tap_text(hash_with(&(struct fs_hash_options){.cache_path = "nowhere/cache"}, "d"), right,
             "a cache that cannot be written is no failure");
    static const char *const exclude[] = {"sub/n7", NULL};
    put_file("cache", bytes, len);
    char without[SHA256_HEX + 1];
    snprintf(without, sizeof(without), "%s",
             hash_with(&(struct fs_hash_options){.exclude = exclude}, "d"));
    tap_text(hash_with(&(struct fs_hash_options){.exclude = exclude, .cache_path = "cache"}, "d"),
             without, "exclusions are not remembered");
    tap_text(hash_with(&cached, "d"), right, "in either direction");

    struct fs_hash *f;
    struct err e;
    if (open_with(&cached, "d", &f, &e) == 0) {
        put("d/sub/n3", "new");
        rest();
        update_one(f, "sub/n3", &e);
        tap_number(fs_hash_save(f, &e), 0, "saved after an update");
        fs_hash_close(f);
        tap_text(hash_with(&cached, "d"), scratch_hash("d"), "and right");
    }
    unlink("cache");
    remove_all("d");
}

/* Same size, and as soon as possible after it was read: the times may be the same. */
static void test_racy(void)
{
    const struct fs_hash_options cached = {.cache_path = "cache"};
    mkdir("d", 0755);
    bool same = true;
    for (unsigned i = 0; same && i < 300; i++) {
        put("d/a", i % 2 ? "odd_" : "even");
        hash_with(&cached, "d");
        FD_CLEANUP int fd = open("d/a", O_WRONLY | O_CLOEXEC);
        fd_write_all(fd, i % 2 ? "ODD_" : "EVEN", 4);
        same = strcmp(hash_with(&cached, "d"), scratch_hash("d")) == 0;
    }
    tap_check(same, "H3: a second write within one tick is seen");
    rest();
    hash_with(&cached, "d");
    struct stat st;
    stat("d/a", &st);
    put("d/a", "back");
    utimensat(AT_FDCWD, "d/a", (struct timespec[2]){st.st_atim, st.st_mtim}, 0);
    tap_text(hash_with(&cached, "d"), scratch_hash("d"), "H3: a time that was set back is seen");
    unlink("cache");
    remove_all("d");
}

/* --- the check ------------------------------------------------------------------------------- */

/* Other bytes of the same size, and the modification time of before: only the change time tells. */
static void rewrite(const char *path)
{
    struct stat st;
    char bytes[16];
    FD_CLEANUP int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)sizeof(bytes))
        return;
    memset(bytes, 'a' + (int)pick(26), sizeof(bytes));
    if (pwrite(fd, bytes, (size_t)st.st_size, 0) < 0 ||
        futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}) < 0)
        printf("# cannot write '%s'\n", path);
}

/* Two directories change their places, or one the other's name. */
static void swap(void)
{
    static const char *const names[] = {"d/x", "d/t", "d/big", "d/x/y", "d/t/u"};
    const char *a = names[pick(5)], *b = names[pick(5)];
    if (rename(a, "d/between") == 0) {
        rename(b, a);
        rename("d/between", b);
        remove_all("d/between");
    }
}

static bool is_sum(struct fs_hash *f, const char *dir)
{
    struct fs_hash *other;
    struct fs_hash_sums a, b;
    struct err e;
    if (open_with(&(struct fs_hash_options){0}, dir, &other, &e) < 0)
        return false;
    fs_hash_sum(f, &a);
    fs_hash_sum(other, &b);
    fs_hash_close(other);
    return a.files == b.files && a.bytes == b.bytes;
}

/* What a run does: the hash before with the cache, known changes, the hash after, the cache. */
static bool live_once(const struct fs_hash_options *cached)
{
    struct fs_hash *f;
    struct err e;
    if (open_with(cached, "d", &f, &e) < 0)
        return false;
    bool same = is_scratch(f, "d") && is_sum(f, "d");
    for (unsigned turns = pick(3); same && turns; turns--) {
        struct changes c = {.count = 0};
        change_something(&c);
        for (size_t i = 0; same && i < c.count; i++)
            same = update_one(f, c.paths[i], &e) == 0;
        same = same && is_scratch(f, "d") && is_sum(f, "d");
    }
    if (same && pick(2))
        same = fs_hash_save(f, &e) == 0;
    fs_hash_close(f);
    return same;
}

static void test_check(void)
{
    static const char *const exclude[] = {"x/y", "big/n7", NULL};
    const struct fs_hash_options cached = {.cache_path = "cache"},
                                 some = {.cache_path = "cache", .exclude = exclude},
                                 some_scratch = {.exclude = exclude};
    mkdir("d", 0755);
    mkdir("d/big", 0755);
    mkdir("d/x", 0755);
    mkdir("d/t", 0755);
    bool same = true;
    unsigned rounds = 0;
    for (; same && rounds < 600; rounds++) {
        for (unsigned left = pick(3); left; left--) {
            struct changes c = {.count = 0};
            change_something(&c);
            rewrite(changed(&c, "%sn%u", random_place(), pick(9)));
            if (pick(8) == 0)
                swap();
        }
        /* At rest, or within the tick in which all this happened. */
        if (pick(4) == 0)
            rest();
        same = live_once(&cached);
        if (same && pick(8) == 0)
            same = strcmp(hash_with(&some, "d"), hash_with(&some_scratch, "d")) == 0;
    }
    tap_check(same, "H1: %u rounds of edits, with a cache the hash and sums of a new walk", rounds);
    unlink("cache");
    remove_all("d");
}

/* A tree of which nothing was unfolded, in each of its uses. */
static void test_folded(void)
{
    const struct fs_hash_options cached = {.cache_path = "cache"};
    struct fs_hash *f;
    struct fs_hash_entry entry;
    struct err e;
    make_tree(2000);
    mkfifo("d/sub/fifo", 0600);
    rest();
    hash_with(&cached, "d");
    if (open_with(&cached, "d", &f, &e) < 0)
        return;
    struct stat before, after;
    stat("cache", &before);
    tap_check(is_scratch(f, "d") && is_sum(f, "d"), "nothing changed");
    tap_check(fs_hash_find(f, "sub/deeper/a", 12, &entry) == 0 && entry.size_bytes == 1,
              "an entry is found");
    tap_check(fs_hash_save(f, &e) == 0 && stat("cache", &after) == 0 &&
                  before.st_ino == after.st_ino,
              "and the cache is not written");
    fs_hash_close(f);
    if (open_with(&cached, "d", &f, &e) < 0)
        return;
    remove_all("d/sub");
    tap_check(update_one(f, "sub", &e) == 0 && is_scratch(f, "d") && is_sum(f, "d"),
              "all of it goes");
    fs_hash_close(f);
    tap_text(hash_with(&cached, "d"), scratch_hash("d"), "gone before it is opened");
    unlink("cache");
    remove_all("d");
}

int main(void)
{
    static void (*const tests[])(void) = {test_cache, test_racy, test_check, test_folded, NULL};
    return play(tests);
}
