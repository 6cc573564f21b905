/* The journal: it survives its encoding; what is damaged, hostile or climbs is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/changes.h"
#include "tap.h"

enum { BYTES_MAX = 1 << 16, ARENA_MAX = 8 << 20 };
#define ID "616df709-0000-4000-8000-0123456789ab"

static char place[] = "/tmp/nacre-journal.XXXXXX";
static int dir = -1;

/* --- one of everything ----------------------------------------------------------------------- */

static struct change_root roots[] = {
    {.path = "/srv/project", .device = 5, .inode = 6, .layer = "/state/runs/x/layer0"},
    {.path = "/", .device = UINT64_MAX, .inode = 0, .layer = "/l"},
};
static struct change changes[] = {
    {.kind = CHANGE_MODIFIED,
     .path = "a",
     .before =
         {.mode = S_IFREG | 0644, .size = 1, .mtime_ns = -1, .inode = 7, .ctime_ns = INT64_MIN},
     .after = {.mode = S_IFREG | 0600,
               .size = UINT64_MAX,
               .inode = 8,
               .attributes = 9,
               .hashed = true,
               .hash = {1, 2, 255}}},
    {.kind = CHANGE_DELETED,
     .path = "d/new\nline\xff",
     .to = "e",
     .step = 1,
     .before = {.mode = S_IFREG}},
    {.kind = CHANGE_CREATED,
     .root = 1,
     .path = "e",
     .from = "d/x",
     .step = 2,
     .after = {.mode = S_IFLNK | 0777}},
    {.kind = CHANGE_TOUCHED,
     .path = ".",
     .step = 3,
     .before = {.mode = S_IFDIR},
     .after = {.mode = S_IFDIR | 0755}},
};
static struct step steps[] = {
    {.kind = STEP_SWAP,
     .path = "a",
     .slot = "upper/a",
     .before = {.mode = S_IFREG, .inode = 7},
     .after = {.mode = S_IFREG, .inode = 8}},
    {.kind = STEP_TAKE, .path = "d", .slot = "slots/1", .before = {.mode = S_IFDIR, .inode = 9}},
    {.kind = STEP_PUT,
     .root = 1,
     .path = "e",
     .slot = "upper/e",
     .after = {.mode = S_IFLNK, .inode = 10}},
    {.kind = STEP_META,
     .path = ".",
     .before = {.mode = S_IFDIR},
     .after = {.mode = S_IFDIR | 0755},
     .attributes_before = "user.a\0\1\0\0\0x",
     .attributes_before_len = 12,
     .attributes_after = ""},
};

static struct journal example(void)
{
    return (struct journal){
        .id = ID,
        .state = JOURNAL_APPLIED,
        .sequence = 17,
        .start_ns = -5,
        .set = {.roots = roots,
                .root_count = 2,
                .changes = changes,
                .change_count = 4,
                .steps = steps,
                .step_count = 4,
                .bytes = 12345},
    };
}

static size_t read_bytes(char bytes[static BYTES_MAX])
{
    FD_CLEANUP int fd = openat(dir, "journal", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, BYTES_MAX);
    return n < 0 ? 0 : (size_t)n;
}

/* Writes one and reads it again: what journal_read says. */
static int round_trip(const struct journal *journal)
{
    struct arena arena;
    struct journal back;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int r = journal_write(dir, journal, false, NULL);
    if (r == 0)
        r = journal_read(dir, &arena, &back, NULL);
    arena_release(&arena);
    return r;
}

static int decode(const char *bytes, size_t len)
{
    struct arena arena;
    struct journal back;
    struct err e = {0};
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    /* A copy of the exact size, so that the sanitizer sees the first byte past the end. */
    char *exact = malloc(len ? len : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, len);
    int r = journal_decode(&arena, exact, len, &back, &e);
    free(exact);
    arena_release(&arena);
    return r;
}

/* Gives bytes that were changed the right hash. */
static void seal(char *bytes, size_t len)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, bytes, len - sizeof(digest));
    sha256_end(&hash, digest);
    memcpy(bytes + len - sizeof(digest), digest, sizeof(digest));
}

/* --- tests ----------------------------------------------------------------------------------- */

static bool same_side(const struct change_side *a, const struct change_side *b)
{
    return a->mode == b->mode && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->inode == b->inode && a->ctime_ns == b->ctime_ns && a->attributes == b->attributes &&
           a->hashed == b->hashed && memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_round_trip(void)
{
    static char first[BYTES_MAX], second[BYTES_MAX];
    struct journal journal = example(), back = {0};
    struct arena arena;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    tap_number(journal_write(dir, &journal, true, NULL), 0, "it is written");
    size_t len = read_bytes(first);
    tap_number(journal_read(dir, &arena, &back, NULL), 0, "and read");
    tap_check(strcmp(back.id, ID) == 0 && back.state == JOURNAL_APPLIED && back.sequence == 17 &&
                  back.start_ns == -5 && back.set.bytes == 12345,
              "its head is the same");
    bool same = back.set.root_count == 2 && back.set.change_count == 4 && back.set.step_count == 4;
    for (size_t i = 0; same && i < 2; i++)
        same = strcmp(back.set.roots[i].path, roots[i].path) == 0 &&
               strcmp(back.set.roots[i].layer, roots[i].layer) == 0 &&
               back.set.roots[i].device == roots[i].device &&
               back.set.roots[i].inode == roots[i].inode;
    tap_check(same, "its roots are the same");
    for (size_t i = 0; same && i < 4; i++) {
        const struct change *a = &back.set.changes[i], *b = &changes[i];
        same = a->kind == b->kind && a->root == b->root && a->step == b->step &&
               same_text(a->path, b->path) && same_text(a->from, b->from) &&
               same_text(a->to, b->to) && same_side(&a->before, &b->before) &&
               same_side(&a->after, &b->after);
    }
    tap_check(same, "its changes are the same");
    for (size_t i = 0; same && i < 4; i++) {
        const struct step *a = &back.set.steps[i], *b = &steps[i];
        same = a->kind == b->kind && a->root == b->root && same_text(a->path, b->path) &&
               same_text(a->slot, b->slot) && same_side(&a->before, &b->before) &&
               same_side(&a->after, &b->after) &&
               a->attributes_before_len == b->attributes_before_len &&
               a->attributes_after_len == b->attributes_after_len &&
               (!b->attributes_before_len ||
                memcmp(a->attributes_before, b->attributes_before, b->attributes_before_len) == 0);
    }
    tap_check(same, "its steps are the same");
    tap_number(journal_write(dir, &back, false, NULL), 0, "it is written again");
    tap_check(read_bytes(second) == len && memcmp(first, second, len) == 0, "as the same bytes");
    arena_release(&arena);
    struct stat st;
    tap_check(fstatat(dir, "journal.new", &st, 0) < 0 && errno == ENOENT, "nothing else is left");
    tap_check(fstatat(dir, "journal", &st, 0) == 0 && (st.st_mode & 077) == 0,
              "for its owner alone");
}

static void test_damage(void)
{
    static char bytes[BYTES_MAX], broken[BYTES_MAX];
    struct journal journal = example();
    journal_write(dir, &journal, false, NULL);
    size_t len = read_bytes(bytes), wrong = 0;
    tap_number(decode(bytes, len), 0, "control: it is whole");
    for (size_t i = 0; i < len; i++)
        wrong += decode(bytes, i) != -EBADMSG;
    tap_number((long long)wrong, 0, "cut anywhere it is refused");
    wrong = 0;
    for (size_t i = 0; i < len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(broken, bytes, len);
            broken[i] = (char)(broken[i] ^ (1 << bit));
            wrong += decode(broken, len) != -EBADMSG;
        }
    }
    tap_number((long long)wrong, 0, "with any bit changed it is refused");
    memcpy(broken, bytes, len);
    broken[len] = 0;
    tap_number(decode(broken, len + 1), -EBADMSG, "with a byte behind it it is refused");
    memcpy(broken, bytes, len);
    memset(broken + len, 0, SHA256_BYTES);
    seal(broken, len + SHA256_BYTES);
    tap_number(decode(broken, len + SHA256_BYTES), -EBADMSG, "with more behind it, too");
}

/* Somebody who knows how to hash: whatever it says, it is refused, or means something. */
static void test_hostile(void)
{
    static const unsigned char patterns[][8] = {
        {255, 255, 255, 255, 255, 255, 255, 255},
        {255, 255, 255, 255, 255, 255, 255, 127},
        {0, 0, 0, 0, 1},
        {255, 255, 255, 255},
        {0, 0, 0, 8},
        {0},
        {1},
        {0, 0, 0, 0, 0, 0, 0, 128},
    };
    static char bytes[BYTES_MAX], broken[BYTES_MAX];
    struct journal journal = example();
    journal_write(dir, &journal, false, NULL);
    size_t len = read_bytes(bytes), wrong = 0;
    for (size_t i = 16; i + 8 + SHA256_BYTES <= len; i++) {
        for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++) {
            memcpy(broken, bytes, len);
            memcpy(broken + i, patterns[k], 8);
            seal(broken, len);
            int r = decode(broken, len);
            wrong += r != 0 && r != -EBADMSG && r != -ENOMEM;
        }
    }
    tap_number((long long)wrong, 0, "numbers of any size anywhere");
    wrong = 0;
    for (size_t i = 16; i + SHA256_BYTES < len; i++) {
        memcpy(broken, bytes, i);
        seal(broken, i + SHA256_BYTES);
        wrong += decode(broken, i + SHA256_BYTES) != -EBADMSG;
    }
    tap_number((long long)wrong, 0, "cut anywhere, with the right hash, it is refused");
    tap_number(decode("", 0), -EBADMSG, "nothing is no journal");
}

static void test_paths(void)
{
    static const char *const bad[] = {"",     "/",  "/etc", "..",  "../x",  "a/..",        "a/../b",
                                      "a//b", "a/", "./a",  "a/.", "a/./b", "a/../../etc", "//"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct step one = {
            .kind = STEP_PUT, .path = bad[i], .slot = "upper/x", .after = {.mode = S_IFREG}};
        struct journal journal = example();
        journal.set.change_count = 0;
        journal.set.steps = &one;
        journal.set.step_count = 1;
        tap_check(round_trip(&journal) == -EBADMSG, "a step to '%s' is refused", bad[i]);
        one.path = "x";
        one.slot = bad[i];
        tap_check(round_trip(&journal) == -EBADMSG, "a slot at '%s' is refused", bad[i]);
        one.slot = "upper/x";
        struct change change = {.kind = CHANGE_CREATED, .path = bad[i], .after = {.mode = S_IFREG}};
        journal.set.changes = &change;
        journal.set.change_count = 1;
        tap_check(round_trip(&journal) == -EBADMSG, "a change of '%s' is refused", bad[i]);
    }
    static const char *const good[] = {"x", "...", "..a", "a../b", ".a/.b", "a b", "\xff\n"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct step one = {
            .kind = STEP_PUT, .path = good[i], .slot = "upper/x", .after = {.mode = S_IFREG}};
        struct journal journal = example();
        journal.set.change_count = 0;
        journal.set.steps = &one;
        journal.set.step_count = 1;
        tap_number(round_trip(&journal), 0, "control: a name that looks odd is none of them");
    }
}

static void test_sense(void)
{
    struct journal journal = example();
    journal.state = JOURNAL_NONE;
    tap_number(round_trip(&journal), -EBADMSG, "a state that is none");
    journal.state = JOURNAL_STATES;
    tap_number(round_trip(&journal), -EBADMSG, "a state that there is not");
    journal = example();
    journal.id[5] = '\0';
    tap_number(round_trip(&journal), -EBADMSG, "an id that is none");
    for (unsigned what = 0; what < 8; what++) {
        struct change change = changes[0];
        struct step step = steps[0];
        struct change_root root = roots[0];
        journal = example();
        journal.set.changes = &change;
        journal.set.steps = &step;
        journal.set.roots = &root;
        journal.set.root_count = journal.set.change_count = journal.set.step_count = 1;
        if (what == 0 && round_trip(&journal) != 0)
            tap_check(false, "control: one of each");
        static const char *const names[] = {
            "a root that there is not",         "a step's root that there is not",
            "a step that there is not",         "a kind of change that there is not",
            "a kind of step that there is not", "a change that its step does not move",
            "a root that is relative",          "a layer that is relative"};
        if (what == 0)
            change.root = 1;
        else if (what == 1)
            step.root = 1;
        else if (what == 2)
            change.step = 1;
        else if (what == 3)
            change.kind = CHANGE_KINDS;
        else if (what == 4)
            step.kind = STEP_KINDS;
        else if (what == 5)
            change.path = "b";
        else if (what == 6)
            root.path = "srv";
        else
            root.layer = "layer";
        tap_number(round_trip(&journal), -EBADMSG, names[what]);
    }
    journal = example();
    journal.set.root_count = journal.set.change_count = journal.set.step_count = 0;
    tap_number(round_trip(&journal), 0, "an empty one is one");
    unlinkat(dir, "journal", 0);
    struct arena arena;
    struct journal back;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    tap_number(journal_read(dir, &arena, &back, NULL), -ENOENT, "none is there");
    if (symlinkat("/etc/passwd", dir, "journal") == 0)
        tap_check(journal_read(dir, &arena, &back, NULL) == -ELOOP, "a link is not followed");
    unlinkat(dir, "journal", 0);
    arena_release(&arena);
}

static void *failing_resize(void *user, void *old, size_t size)
{
    long *left = user;
    if (size && (*left)-- <= 0)
        return NULL;
    return allocator_libc.resize(allocator_libc.user, old, size);
}

static void test_memory(void)
{
    struct journal journal = example(), back;
    journal_write(dir, &journal, false, NULL);
    size_t wrong = 0;
    long failures = 0;
    for (int r = -1; r != 0 && failures < 1000; failures++) {
        long left = failures;
        const struct allocator few = {failing_resize, &left};
        struct arena arena;
        struct err e = {0};
        arena_init(&arena, &few, ARENA_MAX);
        r = journal_read(dir, &arena, &back, &e);
        wrong += r != 0 && r != -ENOMEM;
        arena_release(&arena);
    }
    tap_check(failures > 1 && failures < 1000 && !wrong, "each allocation may fail (%ld)",
              failures);
    /* Blocks are large: a small arena fails at each of its parts, too. */
    wrong = 0;
    static char bytes[BYTES_MAX];
    size_t len = read_bytes(bytes);
    bool whole = false;
    for (size_t max = 0; max < BYTES_MAX && !whole; max += 8) {
        struct arena arena;
        struct err e = {0};
        arena_init(&arena, &allocator_libc, max);
        int r = journal_decode(&arena, bytes, len, &back, &e);
        wrong += r != 0 && r != -ENOMEM;
        whole = r == 0;
        arena_release(&arena);
    }
    tap_check(whole && !wrong, "in any room it fits, or says so");
}

int main(void)
{
    dir = mkdtemp(place) ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir < 0)
        return 2;
    test_round_trip();
    test_damage();
    test_hostile();
    test_paths();
    test_sense();
    test_memory();
    unlinkat(dir, "journal", 0);
    close(dir);
    rmdir(place);
    return tap_done();
}
