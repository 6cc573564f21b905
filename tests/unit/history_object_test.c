/* Objects: put, got, damaged, dropped. */
#include "history/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "tap.h"

static char dir[64] = "/tmp/nacre-objects.XXXXXX";
static char objects[80];
static struct buf out;

static void path_of(const char *name, char ret[256])
{
    snprintf(ret, 256, "%s/%.2s/%s.zst", objects, name, name + 2);
}

static bool overwrite(const char *name, const void *bytes, size_t len)
{
    char path[256];
    path_of(name, path);
    FD_CLEANUP int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return fd >= 0 && fd_write_all(fd, bytes, len) == 0;
}

static void test_round(void)
{
    char name[SHA256_HEX + 1], again[SHA256_HEX + 1], path[256];
    struct stat st;
    struct err e = {0};
    tap_number(object_get(objects,
                          "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9", &out,
                          NULL),
               -ENOENT, "get: no directory yet");
    tap_number(object_put(objects, "hello world", 11, name, &e), 0, "put");
    tap_text(name, "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
             "put: its name is its SHA-256");
    tap_check(stat(objects, &st) == 0 && (st.st_mode & 0777) == 0700, "put: for the owner alone");
    path_of(name, path);
    tap_check(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "put: at its place");
    tap_check(object_get(objects, name, &out, &e) == 0 && out.len == 11 &&
                  strcmp(out.data, "hello world") == 0,
              "get");
    ino_t inode = st.st_ino;
    tap_check(object_put(objects, "hello world", 11, again, &e) == 0 && strcmp(name, again) == 0 &&
                  stat(path, &st) == 0 && st.st_ino == inode,
              "put: the same again is not written again");
    tap_check(object_put(objects, "", 0, name, &e) == 0 &&
                  object_get(objects, name, &out, &e) == 0 && out.len == 0,
              "an empty one");

    size_t len = 5 << 20;
    char *large = malloc(len);
    if (!large)
        abort();
    for (size_t i = 0; i < len; i++)
        large[i] = (char)(i * 2654435761U >> 13);
    tap_check(object_put(objects, large, len, name, &e) == 0 &&
                  object_get(objects, name, &out, &e) == 0 && out.len == len &&
                  memcmp(out.data, large, len) == 0,
              "a large one with every byte");
    free(large);
    tap_number(object_put(objects, "", (size_t)OBJECT_BYTES_MAX + 1, name, NULL), -E2BIG,
               "put: too large");
    tap_number(object_put("/nonexistent/objects", "a", 1, name, NULL), -ENOENT,
               "put: no place for it");
}

static void test_damage(void)
{
    char name[SHA256_HEX + 1], path[256];
    unsigned char file[256], other[256];
    struct err e = {0};
    if (object_put(objects, "some text, some text, some text", 31, name, &e) < 0)
        abort();
    path_of(name, path);
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, file, sizeof(file));
    bool any = len <= 0, cut = false, more;
    for (size_t i = 0; i < (size_t)len * 8; i++) {
        memcpy(other, file, (size_t)len);
        other[i / 8] = (unsigned char)(other[i / 8] ^ 1U << i % 8);
        overwrite(name, other, (size_t)len);
        /* A bit that zstd does not use may change; the content may not. */
        int r = object_get(objects, name, &out, NULL);
        any |= r != -EBADMSG && !(r == 0 && out.len == 31);
    }
    tap_check(!any, "damage: no bit of it can be changed unseen");
    for (size_t i = 0; i < (size_t)len; i++) {
        overwrite(name, file, i);
        cut |= object_get(objects, name, &out, NULL) != -EBADMSG;
    }
    tap_check(!cut, "damage: nor can it be cut");
    memcpy(other, file, (size_t)len);
    other[len] = 0;
    overwrite(name, other, (size_t)len + 1);
    more = object_get(objects, name, &out, NULL) == -EBADMSG;
    tap_check(more, "damage: nor anything be added");

    size_t forged = ZSTD_compress(other, sizeof(other), "forged", 6, 3);
    overwrite(name, other, forged);
    tap_number(object_get(objects, name, &out, &e), -EBADMSG, "damage: forged");
    tap_check(strstr(e.message, "is damaged") != NULL, "damage: %s", e.message);
    tap_check(object_put(objects, "some text, some text, some text", 31, name, &e) == 0 &&
                  object_get(objects, name, &out, &e) == 0,
              "damage: put again, it is whole");

    /* A bomb: a small file that says that it is 1 TB. */
    static const unsigned char bomb[] = {0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0,
                                         0,    0,    1,    0,    0,    1, 0, 0};
    overwrite(name, bomb, sizeof(bomb));
    tap_number(object_get(objects, name, &out, NULL), -EBADMSG, "damage: a bomb");

    unlink(path);
    tap_check(symlink("/etc/passwd", path) == 0, "damage: a link in its place");
    tap_number(object_get(objects, name, &out, NULL), -EBADMSG, "damage: a link is not followed");
    tap_check(object_put(objects, "some text, some text, some text", 31, name, &e) == 0 &&
                  object_get(objects, name, &out, &e) == 0,
              "damage: put again, in place of the link");
    tap_number(object_get(objects, "../../../etc/passwd", &out, NULL), -EBADMSG,
               "no name of an object");
    tap_number(object_get(objects, name + 1, &out, NULL), -EBADMSG, "a name too short");
}

static void test_retain(void)
{
    char names[5][SHA256_HEX + 1], path[256];
    uint64_t dropped = 99;
    struct err e = {0};
    snprintf(objects, sizeof(objects), "%s/retained", dir);
    tap_check(object_retain(objects, 0, &dropped, &e) == 0 && dropped == 0, "retain: none there");
    for (unsigned i = 0; i < 5; i++) {
        /* Nothing that could be made smaller. */
        char content[1000];
        uint64_t noise = i + 1;
        for (size_t k = 0; k < sizeof(content); k++) {
            noise = noise * 6364136223846793005U + 1442695040888963407U;
            content[k] = (char)(noise >> 56);
        }
        content[0] = (char)i;
        if (object_put(objects, content, sizeof(content), names[i], &e) < 0)
            abort();
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = i == 2 ? 1 : 1000 + i}};
        path_of(names[i], path);
        utimensat(AT_FDCWD, path, times, 0);
    }
    tap_check(object_retain(objects, 1 << 20, &dropped, &e) == 0 && dropped == 0,
              "retain: all within the bound");
    tap_check(object_retain(objects, 3100, &dropped, &e) == 0 && dropped == 2,
              "retain: two too many");
    tap_check(object_get(objects, names[2], &out, NULL) == -ENOENT &&
                  object_get(objects, names[0], &out, NULL) == -ENOENT &&
                  object_get(objects, names[1], &out, NULL) == 0 &&
                  object_get(objects, names[4], &out, NULL) == 0,
              "retain: the oldest are gone");
    snprintf(path, sizeof(path), "%s/.new-left", objects);
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    tap_check(object_retain(objects, 1 << 20, NULL, &e) == 0 && access(path, F_OK) == 0,
              "retain: who writes now is left alone");
    utimensat(AT_FDCWD, path, old, 0);
    tap_check(object_retain(objects, 1 << 20, NULL, &e) == 0 && access(path, F_OK) < 0,
              "retain: what a dead writer left is removed");
    tap_check(object_retain(objects, 0, &dropped, &e) == 0 && dropped == 3, "retain: nothing");
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(objects, sizeof(objects), "%s/objects", dir);
    buf_init(&out, &allocator_libc, OBJECT_BYTES_MAX);
    test_round();
    test_damage();
    test_retain();
    buf_release(&out);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    /* NOLINTNEXTLINE(cert-env33-c): a name of our own */
    tap_check(system(command) == 0, "removed");
    return tap_done();
}
