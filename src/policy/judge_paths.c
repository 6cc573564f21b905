/* Which files a run may read, write and delete, by their paths. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/verdict.h"

/* A path of the policy, absolute. */
struct listed {
    const char *path;
    bool anywhere; /* hide: a plain name, wherever it is in the workspace */
    bool inside;   /* in the workspace, or above it */
};

struct list {
    struct listed *items;
    size_t count;
};

struct judge_paths {
    const char *home, *workspace;
    bool read_only;
    struct list read, write, protect, hide;
};

static const char *absolute(struct arena *arena, const char *text, const char *home,
                            const char *workspace)
{
    if (text[0] == '/')
        return text;
    if (text[0] == '~' && (text[1] == '/' || !text[1]))
        return home ? arena_format(arena, "%s%s", home, text + 1) : NULL;
    return strcmp(text, ".") == 0 ? workspace : arena_format(arena, "%s/%s", workspace, text);
}

static int fill(struct arena *arena, const struct policy_texts *texts, const char *home,
                const char *workspace, struct list *ret)
{
    ret->items = arena_alloc_array(arena, texts->count + 1, sizeof(*ret->items));
    if (!ret->items)
        return -1;
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i].text;
        const char *path = absolute(arena, text, home, workspace);
        if (arena->failed)
            return -1;
        if (!path)
            continue; /* below ~ of somebody who has no home */
        ret->items[ret->count++] = (struct listed){.path = path,
                                                   .anywhere = !strchr(text, '/') && text[0] != '~',
                                                   .inside = path_is_below(path, workspace) ||
                                                             path_is_below(workspace, path)};
    }
    return 0;
}

const struct judge_paths *judge_paths_new(struct arena *arena, const struct policy *policy,
                                          const char *home, const char *workspace)
{
    struct judge_paths *p = workspace ? arena_alloc(arena, sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    p->home = home;
    p->workspace = workspace;
    p->read_only = policy->workspace_read_only;
    if (fill(arena, &policy->read, home, workspace, &p->read) < 0 ||
        fill(arena, &policy->write, home, workspace, &p->write) < 0 ||
        fill(arena, &policy->protect, home, workspace, &p->protect) < 0 ||
        fill(arena, &policy->hide, home, workspace, &p->hide) < 0)
        return NULL;
    return p;
}

/* --- paths and globs ------------------------------------------------------------------------ */

static bool below(const char *path, const char *dir)
{
    if (strcmp(dir, "/") == 0)
        return true;
    return path_is_below(path, dir);
}

/* Characters as one byte each, as a glob counts them; other scripts are told apart by a hash. */
static bool to_letters(const char *text, size_t len, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i++];
        unsigned hash = c;
        while (c >= 0x80 && i < len && ((unsigned char)text[i] & 0xc0) == 0x80)
            hash = hash * 31 + (unsigned char)text[i++];
        if (used + 1 >= size)
            return false;
        out[used++] = (char)(c < 0x80 ? c : 0x80 | (hash & 0x7f));
    }
    out[used] = '\0';
    return true;
}

/* Classes, of which bash has more than fnmatch, and letters of other scripts in brackets. */
static bool is_odd_bracket(const char *glob, size_t len)
{
    const char *open = memchr(glob, '[', len);
    for (size_t i = 0; open && i < len; i++) {
        if ((unsigned char)glob[i] >= 0x80 ||
            (glob[i] == '[' && i + 1 < len && strchr(":.=", glob[i + 1])))
            return true;
    }
    return false;
}

/* One part of a path against one part of a glob; what is too long to compare fits. */
static bool part_fits(const char *glob, size_t glob_len, const char *name, size_t name_len)
{
    char pattern[512], letters[512];
    return is_odd_bracket(glob, glob_len) ||
           !to_letters(glob, glob_len, pattern, sizeof(pattern)) ||
           !to_letters(name, name_len, letters, sizeof(letters)) ||
           fnmatch(pattern, letters, FNM_PERIOD) == 0;
}

/* Whether a file that fits the glob may be `path`, or lie below it, or above it when `above`. */
static bool glob_meets(const char *glob, const char *path, bool above)
{
    const char *deep = strstr(glob, "/**/");
    if (deep) { /* somewhere below: its last part must fit the path's */
        size_t prefix = (size_t)(deep - glob);
        if (strncmp(path, glob, prefix) != 0)
            return false;
        for (const char *part = path + prefix; *part == '/';) { /* it, or what it is in */
            size_t len = strcspn(++part, "/");
            if (part_fits(deep + 4, strlen(deep + 4), part, len) && (above || !part[len]))
                return true;
            part += len;
        }
        return false;
    }
    const char *g = glob, *p = path;
    while (*g && *p) {
        size_t g_len = strcspn(g + 1, "/"), p_len = strcspn(p + 1, "/");
        if (!part_fits(g + 1, g_len, p + 1, p_len))
            return false;
        g += g_len + 1;
        p += p_len + 1;
    }
    return *p == '\0' || above;
}

/* Whether the glob also fits a name that has nothing to do with this one: `*`, `.*`, `*.json`. */
static bool is_broad(const char *glob, size_t len, const char *name)
{
    char other[256];
    const char *extension = strrchr(name + 1, '.');
    snprintf(other, sizeof(other), "%szqxj%s", name[0] == '.' ? "." : "",
             extension ? extension : "");
    return !is_odd_bracket(glob, len) && part_fits(glob, len, other, strlen(other));
}

/* Whether the path is `listed`, or below it; for a glob, whether it may be. */
static bool meets(const struct fact_path *path, const char *text, const struct listed *listed,
                  bool above)
{
    if (path->state == WORD_PATTERN && text == path->text)
        return glob_meets(text, listed->path, above);
    return below(text, listed->path) || (above && below(listed->path, text));
}

/* A plain name that is hidden wherever it is. */
static bool meets_anywhere(const struct judge_paths *p, const struct fact_path *path,
                           const char *text, const struct listed *listed)
{
    if (!listed->anywhere || !below(text, p->workspace))
        return false;
    const char *name = strrchr(listed->path, '/') + 1;
    for (const char *part = text + strlen(p->workspace); *part == '/';) {
        part++;
        size_t len = strcspn(part, "/");
        bool glob = path->state == WORD_PATTERN && text == path->text;
        /* a glob only where it means this name: what is hidden is not there for * to find */
        if (glob ? part_fits(part, len, name, strlen(name)) && !is_broad(part, len, name)
                 : strlen(name) == len && memcmp(part, name, len) == 0)
            return true;
        part += len;
    }
    return false;
}

/* A home directory in a listed directory (/tmp/home) is not listed with it. */
static bool is_listed(const struct judge_paths *p, const struct list *list, const char *text)
{
    bool at_home = p->home && below(text, p->home);
    for (size_t i = 0; i < list->count; i++) {
        if (below(text, list->items[i].path) && !(at_home && below(p->home, list->items[i].path)))
            return true;
    }
    return false;
}

/* A directory of which the box shows a part, or a glob in it: no more than that part is found. */
static bool shows_part_of(const struct judge_paths *p, const struct fact_path *path,
                          const char *text)
{
    char directory[512];
    size_t len = strlen(text);
    if (path->state == WORD_PATTERN) {
        len = strcspn(text, "*?[");
        while (len && text[len - 1] != '/')
            len--;
        len -= len > 1;
    }
    if (len == 0 || len >= sizeof(directory))
        return false;
    memcpy(directory, text, len);
    directory[len] = '\0';
    for (size_t i = 0; i < p->read.count; i++) {
        if (below(p->read.items[i].path, directory))
            return !p->home || !below(p->home, directory) || strcmp(directory, "/") == 0;
    }
    return false;
}

/* /proc/self/root/etc is /etc by another name. */
static const char *without_aliases(const struct judge_paths *p, struct arena *arena,
                                   const char *text)
{
    while (strncmp(text, "/proc/", 6) == 0) {
        const char *who = text + 6;
        size_t len = strcspn(who, "/");
        const char *rest = who + len;
        if (strncmp(rest, "/task/", 6) == 0) {
            rest += 6;
            rest += strcspn(rest, "/");
        }
        if (strncmp(rest, "/root", 5) == 0 && (rest[5] == '/' || !rest[5]))
            text = rest[5] ? rest + 5 : "/";
        else if (strncmp(rest, "/cwd", 4) == 0 && (rest[4] == '/' || !rest[4]))
            return arena_format(arena, "%s%s", p->workspace, rest + 4);
        else
            break;
    }
    return text;
}

/* Only stars, so that nothing is left: /STAR and ~/.STAR */
static bool is_everything(const char *name)
{
    return *name && strspn(name, "*.?[!]") == strlen(name);
}

/* Whether deleting it deletes `dir`: it is that, above it, or everything in it. */
static bool deletes(const struct fact_path *path, const char *text, const char *dir)
{
    if (!dir)
        return false;
    if (path->state != WORD_PATTERN || text != path->text)
        return below(dir, text);
    const char *last = strrchr(text, '/');
    size_t len = (size_t)(last - text);
    size_t dir_len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    if (len == dir_len && strncmp(text, dir, len) == 0 && is_everything(last + 1))
        return true;
    return !strstr(text, "/**/") && glob_meets(text, dir, false) && strcmp(dir, "/") != 0 &&
           !(len >= dir_len && strncmp(text, dir, dir_len) == 0);
}

/* --- the decision --------------------------------------------------------------------------- */

struct answer {
    enum decision decision;
    const char *rule, *what;
};

static const struct answer fine = {.decision = DECISION_ALLOW};

/* The path is hidden or protected. */
static struct answer judge_listed(const struct judge_paths *p, const struct fact_path *path,
                                  const char *text)
{
    bool changes = path->mode & (PATH_WRITE | PATH_DELETE);
    bool inside = path->state == WORD_KNOWN && below(text, p->workspace);
    for (size_t i = 0; i < p->hide.count; i++) {
        if (inside && !p->hide.items[i].inside)
            continue; /* most are in the home directory */
        if ((!p->hide.items[i].anywhere && meets(path, text, &p->hide.items[i], false)) ||
            meets_anywhere(p, path, text, &p->hide.items[i]))
            return (struct answer){DECISION_DENY, "path: hidden", "is hidden from every run"};
    }
    for (size_t i = 0; changes && i < p->protect.count; i++) {
        if (meets(path, text, &p->protect.items[i], path->mode & PATH_DELETE))
            return (struct answer){DECISION_DENY, "path: protected", "is protected from changes"};
    }
    const char *deep = path->state == WORD_PATTERN ? strstr(text, "/**/") : NULL;
    for (size_t i = 0; changes && i < p->protect.count; i++) {
        const char *listed = p->protect.items[i].path;
        if (deep ? strncmp(listed, text, (size_t)(deep - text)) == 0
                 : strcmp(text, p->workspace) != 0 && below(listed, text) &&
                       path->state == WORD_KNOWN)
            return (struct answer){DECISION_CONFIRM, "path: protected",
                                   "has protected files among what may be changed"};
    }
    return fine;
}

static struct answer judge_place(const struct judge_paths *p, const struct fact_path *path,
                                 const char *text)
{
    if (path->mode & PATH_DELETE) {
        if (deletes(path, text, p->workspace))
            return (struct answer){DECISION_DENY, "path: destroys",
                                   "is the workspace itself, or holds it"};
        if (deletes(path, text, p->home) || deletes(path, text, "/"))
            return (struct answer){DECISION_DENY, "path: destroys",
                                   "is the root or the home directory"};
    }
    unsigned changes = path->mode & (PATH_WRITE | PATH_DELETE);
    if (below(text, p->workspace)) {
        if (changes && p->read_only)
            return (struct answer){DECISION_DENY, "workspace: ro",
                                   "would be changed, and the workspace is read-only"};
        return fine;
    }
    if (path->loose && path->state != WORD_KNOWN)
        return fine;
    if (path->mode == PATH_ENTER && p->home && strcmp(text, p->home) == 0)
        return fine; /* the box has a home of its own, and nothing in it */
    if (path->climbs)
        return (struct answer){path->one_of_several ? DECISION_CONFIRM : DECISION_DENY,
                               "path: climbs", "leaves the workspace through .."};
    if (!changes && shows_part_of(p, path, text))
        return fine;
    bool ok = changes ? is_listed(p, &p->write, text)
                      : is_listed(p, &p->read, text) || is_listed(p, &p->write, text) ||
                            strcmp(text, "/") == 0;
    if (ok)
        return fine;
    if (path->loose)
        return (struct answer){DECISION_CONFIRM, "path: outside",
                               "may be a path outside the workspace that is not listed"};
    return (struct answer){DECISION_DENY, "path: outside",
                           changes ? "would be changed, and is outside the workspace and not listed"
                                   : "is outside the workspace and not listed"};
}

static struct answer judge_text(const struct judge_paths *p, const struct fact_path *path,
                                const char *text)
{
    struct answer listed = judge_listed(p, path, text);
    struct answer place = judge_place(p, path, text);
    return listed.decision <= place.decision ? listed : place;
}

/* Only the start of the path is known. */
static struct answer judge_unknown(const struct judge_paths *p, const struct fact_path *path)
{
    bool changes = path->mode & (PATH_WRITE | PATH_DELETE);
    struct answer answer = fine;
    if (path->text) {
        struct fact_path start = *path;
        start.state = WORD_KNOWN;
        start.mode =
            (uint8_t)(path->mode & PATH_DELETE ? (path->mode & ~(unsigned)PATH_DELETE) | PATH_WRITE
                                               : path->mode);
        answer = judge_text(p, &start, path->text);
    }
    if (changes && answer.decision == DECISION_ALLOW && !path->loose)
        answer = (struct answer){DECISION_CONFIRM, "path: unknown",
                                 "would be changed, and is not known before it runs"};
    return answer;
}

enum decision judge_path(const struct judge_paths *paths, struct arena *arena,
                         const struct fact_path *path, const char **ret_rule,
                         const char **ret_reason)
{
    struct answer answer;
    const char *text = path->text ? without_aliases(paths, arena, path->text) : NULL;
    struct fact_path seen = *path;
    if (path->text && !text)
        seen.state = WORD_UNKNOWN;
    seen.text = text;
    if (seen.state == WORD_UNKNOWN) {
        answer = judge_unknown(paths, &seen);
    } else if (!text) {
        answer = (struct answer){DECISION_CONFIRM, "path: unknown", "is not known"};
    } else {
        answer = judge_text(paths, &seen, text);
        /* Links inside the workspace lead where they lead; those of the system are the system's. */
        if (path->real && below(text, paths->workspace) && answer.decision != DECISION_DENY) {
            struct answer real = judge_text(paths, &seen, path->real);
            if (real.decision < answer.decision) {
                answer = real;
                text = path->real;
            }
        }
    }
    if (answer.decision == DECISION_ALLOW)
        return DECISION_ALLOW;
    *ret_rule = answer.rule;
    const char *shown = text ? text : "a path";
    *ret_reason = text && seen.state == WORD_UNKNOWN
                      ? arena_format(arena, "a file below '%s' %s", shown, answer.what)
                  : text ? arena_format(arena, "'%s' %s", shown, answer.what)
                         : arena_format(arena, "%s %s", shown, answer.what);
    return answer.decision;
}
