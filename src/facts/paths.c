/*
 * Words as paths: absolute, without . and .., for each directory that the shell may be in. Where
 * symbolic links lead is asked of the host.
 */
#include "base/path.h"
#include "facts/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* base/text or text, as text alone. */
static char *normalize(struct arena *arena, const char *base, const char *text, size_t len)
{
    size_t base_len = len && text[0] == '/' ? 0 : strlen(base);
    char *out = arena_alloc(arena, base_len + len + 2);
    if (!out)
        return NULL;
    memcpy(out, base, base_len);
    size_t size = base_len;
    while (size && out[size - 1] == '/')
        size--;
    for (size_t i = 0; i < len;) {
        while (i < len && text[i] == '/')
            i++;
        size_t from = i;
        while (i < len && text[i] != '/')
            i++;
        size_t part = i - from;
        if (part == 0 || (part == 1 && text[from] == '.'))
            continue;
        if (part == 2 && text[from] == '.' && text[from + 1] == '.') {
            while (size && out[size - 1] != '/')
                size--;
            while (size && out[size - 1] == '/')
                size--;
            continue;
        }
        out[size++] = '/';
        memcpy(out + size, text + from, part);
        size += part;
    }
    if (size == 0)
        out[size++] = '/';
    out[size] = '\0';
    return out;
}

/* The part of a path that is certain to be there: what stands before the last slash, unless all of
 * it is known. */
static size_t certain_len(const struct fact_word *word)
{
    if (word->state == WORD_KNOWN)
        return word->len;
    size_t len = word->len;
    while (len && word->text[len - 1] != '/')
        len--;
    return len;
}

static bool has_dots(const char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] == '.' && text[i + 1] == '.' && (i == 0 || text[i - 1] == '/') &&
            (i + 2 == len || text[i + 2] == '/'))
            return true;
    }
    return false;
}

/* Where it leads. With .. in it the links before them count, so the path is asked as written. */
static const char *real_path(struct walk *w, const char *base, const struct fact_word *word,
                             size_t len, const char *plain)
{
    /* Outside the workspace nothing hostile makes links, and inside the box there are others. */
    if (!w->host->real_path || !path_is_below(plain, w->host->workspace))
        return NULL;
    if (strcmp(plain, w->host->workspace) == 0 && !has_dots(word->text, len))
        return NULL;
    if (!has_dots(word->text, len))
        return w->host->real_path(w->host->user, w->arena, plain);
    bool absolute = len && word->text[0] == '/';
    char *asked = arena_format(w->arena, "%s%s%.*s", absolute ? "" : base, absolute ? "" : "/",
                               (int)len, word->text);
    return asked ? w->host->real_path(w->host->user, w->arena, asked) : NULL;
}

static struct fact_path *led_to(struct walk *w, const struct fact_path *path, const char *text)
{
    struct fact_path *other = text ? arena_take(w->arena, sizeof(*other)) : NULL;
    if (other) {
        *other = *path;
        other->text = text;
        other->real = NULL;
        other->climbs = false;
        other->next = NULL;
    }
    return other;
}

/* The same file by other ways: a link before a glob, a link that the text itself makes, and with ..
 * in it the path as text, for what is not there now. */
static struct fact_path *through_links(struct walk *w, const struct fact_path *path, bool dots)
{
    const char *text = path->text;
    for (const struct link *link = w->links; link; link = link->next) { /* the last one first */
        if (path_is_below(text, link->path))
            text = arena_format(w->arena, "%s%s", link->target, text + strlen(link->path));
        if (!text)
            return NULL;
    }
    if (text != path->text)
        return led_to(w, path, text);
    if (!w->host->real_path || !path_is_below(path->text, w->host->workspace))
        return NULL;
    if (dots)
        return led_to(w, path, w->host->real_path(w->host->user, w->arena, path->text));
    if (path->state == WORD_KNOWN)
        return NULL;
    size_t len = path->state == WORD_PATTERN ? strcspn(path->text, "*?[\\") : strlen(path->text);
    while (path->state == WORD_PATTERN && len && path->text[len - 1] != '/')
        len--;
    len -= path->state == WORD_PATTERN && len > 1;
    const char *directory = arena_copy(w->arena, path->text, len);
    const char *real = directory ? w->host->real_path(w->host->user, w->arena, directory) : NULL;
    return real ? led_to(w, path, arena_format(w->arena, "%s%s", real, path->text + len)) : NULL;
}

static struct fact_path *make_one(struct walk *w, const char *base, const struct fact_word *word,
                                  unsigned mode)
{
    struct fact_path *path = arena_take(w->arena, sizeof(*path));
    if (!path)
        return NULL;
    *path = (struct fact_path){
        .mode = (uint8_t)mode, .state = word->state, .source = word->source, .span = word->span};
    bool absolute = word->len && word->text[0] == '/';
    path->climbs = !absolute && has_dots(word->text, word->len);
    if (!base && !absolute) {
        path->state = WORD_UNKNOWN;
        path->source = word->state == WORD_KNOWN ? SOURCE_VARIABLE : word->source;
        return path;
    }
    size_t len = word->state == WORD_PATTERN ? word->len : certain_len(word);
    if (word->state == WORD_UNKNOWN && len == 0)
        return path; /* nothing is certain, not even that it is relative */
    path->text = normalize(w->arena, base ? base : "/", word->text, len);
    if (!path->text)
        return path;
    if (word->state == WORD_KNOWN)
        path->real = real_path(w, base ? base : "/", word, len, path->text);
    path->next = through_links(w, path, word->state == WORD_KNOWN && has_dots(word->text, len));
    return path;
}

struct fact_path *path_make(struct walk *w, const struct place *base, const struct fact_word *word,
                            unsigned mode)
{
    if (!base || (word->len && word->text[0] == '/'))
        return make_one(w, NULL, word, mode);
    struct fact_path *first = NULL, **last = &first;
    bool stays = false; /* from one directory at least it does not leave the workspace */
    for (; base; base = base->next) {
        *last = make_one(w, base->path, word, mode);
        if (!*last)
            break;
        stays |= (*last)->text && path_is_below((*last)->text, w->host->workspace);
        while ((*last)->next)
            last = &(*last)->next;
        last = &(*last)->next;
    }
    for (struct fact_path *p = first; p; p = p->next)
        p->one_of_several = stays;
    return first;
}

const struct place *path_enter(struct walk *w, const struct place *base,
                               const struct fact_word *word)
{
    if (word->state != WORD_KNOWN)
        return NULL;
    if (word->len && word->text[0] == '/')
        return state_place(w, normalize(w->arena, "/", word->text, word->len));
    const struct place *all = NULL;
    for (; base; base = base->next) {
        char *path = normalize(w->arena, base->path, word->text, word->len);
        const struct place *place = path ? state_place(w, path) : NULL;
        all = all ? state_either(w, all, place) : place;
        if (!all)
            break;
    }
    return all;
}

/* --- the real file system ------------------------------------------------------------------- */

static const char *walk_links(struct arena *arena, const char *path, unsigned depth);

/* Something on the way is a link, or is not for us to see. */
static const char *follow(struct arena *arena, const char *path, unsigned depth)
{
    char *real = realpath(path, NULL);
    if (real) {
        const char *copy = arena_copy(arena, real, strlen(real));
        free(real);
        return copy;
    }
    /* The last part is not there: where the rest leads, and a link to what is not there yet. */
    const char *slash = strrchr(path, '/');
    if (depth == LINKS_MAX)
        return "/too many links"; /* nothing that is listed */
    if (!slash || slash == path)
        return NULL;
    const char *parent = arena_copy(arena, path, (size_t)(slash - path));
    if (!parent)
        return NULL;
    const char *led = walk_links(arena, parent, depth + 1);
    const char *base = led ? led : parent;
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0)
        return arena_format(arena, "%s%s", base, slash);
    const char *next = normalize(arena, base, target, (size_t)len);
    const char *further = next ? walk_links(arena, next, depth + 1) : NULL;
    return further ? further : next;
}

/* One call says that there is no link on the way: only then is the way walked. */
static const char *walk_links(struct arena *arena, const char *path, unsigned depth)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    int failure = fd < 0 ? errno : 0;
    if (fd >= 0)
        close((int)fd);
    if (failure == 0 || failure == ENOENT || failure == ENOTDIR)
        return NULL; /* every part that is there was no link */
    return follow(arena, path, depth);
}

const char *facts_real_path(void *user, struct arena *arena, const char *path)
{
    (void)user;
    if (!has_dots(path, strlen(path)))
        return walk_links(arena, path, 0);
    const char *real = follow(arena, path, 0);
    return real;
}

bool facts_exists(void *user, const char *path)
{
    (void)user;
    struct stat st;
    return lstat(path, &st) == 0;
}

bool facts_is_directory(void *user, const char *path)
{
    (void)user;
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, X_OK) == 0;
}
