/*
 * The verification's other sources: checkpoints that were kept elsewhere, the `checkpoint` file,
 * what the lock file says was durable, and the tiles.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/verify.h"

/* --- checkpoints ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;
    return x->size < y->size ? -1 : x->size > y->size;
}

static int expect(struct verifier *v, const struct note *note, const char *whose, struct err *e)
{
    size_t count = v->expected_count;
    /* Doubles at powers of two. */
    if ((count & (count - 1)) == 0) {
        struct expected *larger =
            alloc_resize(v->allocator, v->expected, (count ? 2 * count : 1) * sizeof(*larger));
        if (!larger)
            return err_set(e, -ENOMEM, "out of memory");
        v->expected = larger;
    }
    v->expected[v->expected_count++] =
        (struct expected){.size = note->size, .root = note->root, .whose = whose};
    return 0;
}

/* Notes that stand one after the other, maybe with empty lines between. */
static int read_given(struct verifier *v, struct err *e)
{
    const char *at = v->options->checkpoints;
    size_t len = v->options->checkpoints_len;
    size_t number = 0;
    while (at && len) {
        struct note note = {0};
        struct err why = {0};
        if (*at == '\n') {
            at++;
            len--;
            continue;
        }
        number++;
        int r = note_read(at, len, &note, &why);
        if (r < 0)
            return err_set(e, -EINVAL, "checkpoint %zu that was handed in: %s", number,
                           why.message);
        r = note_check(&note, &v->key, &why);
        if (r < 0) {
            verify_damage(v, 0, 0, "checkpoint %zu that was handed in (%llu entries): %s", number,
                          (unsigned long long)note.size, why.message);
        } else {
            v->report->signatures++;
            r = expect(v, &note, "a checkpoint that was handed in", e);
            if (r < 0)
                return r;
        }
        at += note.len;
        len -= note.len;
    }
    return 0;
}

/* The published checkpoint is derived; but what it says was signed once. */
static int read_published(struct verifier *v, struct err *e)
{
    char text[NOTE_MAX];
    struct note note = {0};
    struct err why = {0};
    FD_CLEANUP int fd = openat(v->dir, CHECKPOINT_FILE, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(e, -errno, "cannot read '" CHECKPOINT_FILE "'");
    ssize_t len = read(fd, text, sizeof(text));
    if (len < 0)
        return err_errno(e, -errno, "cannot read '" CHECKPOINT_FILE "'");
    int r = note_read(text, (size_t)len, &note, &why);
    if (r == 0 && note.len != (size_t)len)
        r = err_set(&why, -EBADMSG, "more than a checkpoint");
    if (r == 0)
        r = note_check(&note, &v->key, &why);
    if (r < 0) {
        verify_damage(v, 0, 0, "the file '" CHECKPOINT_FILE "' (publishing writes it again): %s",
                      why.message);
        return 0;
    }
    v->report->signatures++;
    return expect(v, &note, "the file '" CHECKPOINT_FILE "'", e);
}

int expected_gather(struct verifier *v, struct err *e)
{
    struct lockfile state = {.fd = -1};
    int r = lockfile_open(v->dir, false, true, &state, NULL);
    if (r == 0)
        v->durable = lockfile_get_size(&state.shared->durable);
    lockfile_close(&state);
    r = read_given(v, e);
    if (r == 0)
        r = read_published(v, e);
    if (r == 0 && v->expected_count)
        qsort(v->expected, v->expected_count, sizeof(*v->expected), compare);
    return r;
}

void expected_compare(struct verifier *v)
{
    for (; v->expected_next < v->expected_count; v->expected_next++) {
        const struct expected *x = &v->expected[v->expected_next];
        struct merkle_hash root;
        if (x->size > v->tree.size)
            return;
        /* Before the place where the verification began there is nothing to compare. */
        if (x->size < v->tree.size || v->broken)
            continue;
        merkle_root(&v->tree, &root);
        if (!merkle_same(&root, &x->root))
            verify_damage(v, x->size ? x->size - 1 : 0, 0,
                          "the first %llu entries are not those of %s", (unsigned long long)x->size,
                          x->whose);
    }
}

void expected_finish(struct verifier *v)
{
    uint64_t size = v->signed_size;
    /* A last checkpoint that is damaged looks like an unfinished write: say where. */
    uint64_t offset = v->report->torn_bytes ? v->offset : 0;
    for (size_t i = 0; i < v->expected_count; i++) {
        if (v->expected[i].size > size)
            verify_damage(v, size, offset, "cut: %llu entries are signed here, %llu in %s",
                          (unsigned long long)size, (unsigned long long)v->expected[i].size,
                          v->expected[i].whose);
    }
    if (v->durable > size)
        verify_damage(v, size, offset,
                      "cut: %llu entries are signed here, %llu were durable by the lock file",
                      (unsigned long long)size, (unsigned long long)v->durable);
}

/* --- tiles ----------------------------------------------------------------------------------- */

/* A tile's file, if there is one, must have these hashes. */
static void compare_tile(struct verifier *v, unsigned level, uint64_t number)
{
    struct merkle_hash is[TILE_WIDTH];
    char name[TILE_NAME_MAX];
    int r = tile_read(v->dir, level, number, is);
    if (r == -ENOENT || (r == 0 && memcmp(is, v->tile[level], TILE_BYTES) == 0))
        return;
    tile_name((int)level, number, TILE_WIDTH, name);
    verify_damage(v, number << (8 * (level + 1)), 0,
                  "the hashes in '%s' are not those of the entries (publishing anew heals it)",
                  name);
}

void verify_leaf(struct verifier *v, const struct merkle_hash *leaf)
{
    uint64_t number = v->tree.size;
    struct merkle_hash seen[MERKLE_LEVELS / 8 + 1];
    merkle_add_seen(&v->tree, leaf, seen);
    if (!v->tiles && number % TILE_WIDTH == 0 && !v->broken) {
        v->tiles = true; /* from a tile's start on, its level can be compared */
        v->tile_levels = number == 0 ? TILE_LEVELS : 1;
    }
    if (!v->tiles || v->broken)
        return;
    for (unsigned level = 0; level < v->tile_levels; level++) {
        unsigned at = (unsigned)(number % TILE_WIDTH);
        v->tile[level][at] = seen[level];
        if (at != TILE_WIDTH - 1)
            return;
        number /= TILE_WIDTH;
        compare_tile(v, level, number);
    }
}

int verify_dropped(struct verifier *v, uint64_t first, struct err *e)
{
    struct merkle_hash tile[TILE_WIDTH];
    while (v->tree.size < first) {
        unsigned at = (unsigned)(v->tree.size % TILE_WIDTH);
        expected_compare(v);
        if (at == 0) {
            int r = tile_read(v->dir, 0, v->tree.size / TILE_WIDTH, tile);
            if (r == -ENOENT || r == -EBADMSG) {
                verify_damage(v, v->tree.size, 0,
                              "the records before entry %llu were dropped, and the tile with the "
                              "hash of this one is %s",
                              (unsigned long long)first, r == -ENOENT ? "not there" : "not whole");
                v->broken = true;
                return 0;
            }
            if (r < 0)
                return err_errno(e, r, "cannot read a tile");
        }
        verify_leaf(v, &tile[at]);
    }
    return 0;
}
