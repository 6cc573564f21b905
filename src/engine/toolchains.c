/*
 * The caller's toolchains: which places of the home directory the box shows; see surroundings.h.
 *
 * One table (toolchains_table.h) says where a toolchain lies and which parts of it are shown. Most
 * are shown whole, for one mount is cheaper than ten; those with a secret next to their programs in
 * named parts only. This runs before every command, so no directory is read: a place is looked at
 * only after PATH or a variable has led to it.
 *
 * T1. Whatever is shown went through is_acceptable, by its canonical path.
 * T2. What stands in PATH or in a variable leads to something that the box shows.
 * T3. No link that the inside could have made decides what is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/surroundings.h"
#include "engine/toolchains_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- lists ------------------------------------------------------------------------------------ */

/* Variables that name a place in a toolchain, besides those of the table. */
static const char *const more_variables[] = {"VIRTUAL_ENV", "NVM_BIN",  "NVM_INC",
                                             "GEM_HOME",    "GEM_PATH", "MY_RUBY_HOME"};

/* What the box shows without being asked. */
static const char *const system_places[] = {"/usr", "/bin", "/sbin", "/opt"};

static const char *const system_path[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                          "/usr/bin",        "/sbin",          "/bin"};

/* Nothing of these belongs to a PATH that is handed on: others write there, or it soon is gone. */
static const char *const passing_places[] = {"/tmp", "/var/tmp", "/dev/shm"};

/* Outside of home, nothing below these is shown, whatever leads there. */
static const char *const never_outside[] = {
    "/boot",    "/dev",     "/etc",     "/proc",     "/root",      "/run",         "/sys",
    "/var/lib", "/var/log", "/var/run", "/var/mail", "/var/spool", "/var/backups", "/var/cache",
};

/* A directory of such a name, anywhere in a path: what lies in it is secret. */
static const char *const secret_names[] = {
    ".ssh",         ".gnupg",  ".aws",     ".azure",  ".docker",      ".kube",
    ".gcloud",      ".oci",    ".helm",    ".vault",  ".terraform.d", ".password-store",
    ".1password",   ".pki",    ".certs",   ".step",   ".mozilla",     ".thunderbird",
    ".m2",          ".gradle", ".chef",    ".sops",   ".subversion",  ".minikube",
    ".cloudflared", ".fly",    ".bitcoin", ".claude", ".codex",       ".gemini",
    ".cursor",      ".nacre",  ".git",     ".var",    "keyrings",     "kwalletd",
};

/* Below home, not a place for an unknown PATH entry, nor is anything in it. */
static const char *const unknown_never_in[] = {".config", ".gem", ".nuget"};

/* Below home, not itself an unknown PATH entry: too much else is in it. */
static const char *const unknown_never[] = {
    ".cache",    ".local",    ".local/share", ".local/state", "Desktop",
    "Documents", "Downloads", "Music",        "Pictures",     "Videos",
    "Public",    "Templates", "Dropbox",      "OneDrive",     "snap",
};

/* --- the state of one search ------------------------------------------------------------------ */

enum { SPOTS_MAX = 2 * COUNT(rows) + TOOLCHAINS_PATH_MAX };

/* A place where a row may be. */
struct spot {
    const struct row *row;
    const char *text; /* as PATH and variables write it, home canonical */
    size_t text_len;
    const char *place; /* canonical, once found */
    bool by_variable;
    bool found;
};

struct entry {
    const char *text;  /* normal: absolute, no empty part, no dots, home canonical */
    const char *place; /* canonical */
    struct stat st;
    bool plain;    /* one of the system's own: taken as it is */
    bool row_only; /* counts only if the table knows where it leads */
    bool known;    /* the table knows it */
};

struct search {
    struct arena *arena;
    const char *home, *workspace;
    const char *const *writable; /* no link that lies there is followed */
    size_t home_len;
    const char *home_text; /* how HOME writes it, where that differs */
    const char *const *environment;
    const char *values[COUNT(rows)]; /* of the rows' variables, normal; NULL where unset or odd */
    struct spot *spots;
    size_t spot_count;
    struct entry *entries;
    size_t entry_count;
    const char **shown;
    size_t shown_count;
    struct toolchain_link *links;
    size_t link_count;
};

static bool is_below_any(const char *path, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (path_is_below(path, list[i]))
            return true;
    }
    return false;
}

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, list[i]) == 0)
            return true;
    }
    return false;
}

/* What comes behind home and its slash, or NULL for what is not below it. */
static const char *below_home(const struct search *s, const char *path)
{
    bool below = s->home && strncmp(path, s->home, s->home_len) == 0 && path[s->home_len] == '/';
    return below ? path + s->home_len + 1 : NULL;
}

static char *join(const struct search *s, const char *base, const char *rest, size_t rest_len)
{
    size_t base_len = strlen(base);
    char *path = arena_alloc(s->arena, base_len + rest_len + 2), *end = path;
    if (path) {
        end = mempcpy(end, base, base_len);
        *end++ = '/';
        memcpy(end, rest, rest_len);
    }
    return path;
}

/* The next of some words that blanks separate; NULL at their end. */
static const char *next_word(const char **rest, size_t *ret_len)
{
    const char *word = *rest + strspn(*rest, " ");
    *ret_len = strcspn(word, " ");
    *rest = word + *ret_len;
    return *ret_len ? word : NULL;
}

/* --- paths ------------------------------------------------------------------------------------ */

/*
 * Without empty parts and a last slash, and with home canonical. NULL for what is not absolute, has
 * a part of dots (*ret_dots then says so), control characters, or no end.
 */
static const char *normal_path(const struct search *s, const char *text, size_t len, bool *ret_dots)
{
    *ret_dots = false;
    if (len == 0 || len >= PATH_MAX || text[0] != '/')
        return NULL;
    char path[PATH_MAX];
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        while (i < len && text[i] == '/')
            i++;
        size_t start = i;
        for (; i < len && text[i] != '/'; i++) {
            if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
                return NULL;
        }
        size_t part = i - start;
        if (part == 0)
            break;
        if (text[start] == '.' && (part == 1 || (part == 2 && text[start + 1] == '.'))) {
            *ret_dots = true;
            return NULL;
        }
        path[used++] = '/';
        memcpy(path + used, text + start, part);
        used += part;
    }
    if (used == 0)
        path[used++] = '/';
    path[used] = '\0';
    if (s->home_text && path_is_below(path, s->home_text))
        return arena_format(s->arena, "%s%s", s->home, path + strlen(s->home_text));
    return arena_copy(s->arena, path, used);
}

/* The canonical form of a path that exists, and what is there; `known` as in surroundings.h. */
static const char *resolve(const struct search *s, const char *path, size_t known, struct stat *st)
{
    char real[PATH_MAX];
    if (surroundings_resolve(path, known, s->writable, real, st) < 0)
        return NULL;
    return strcmp(real, path) == 0 ? path : arena_copy(s->arena, real, strlen(real));
}

static const char *resolve_any(const struct search *s, const char *path, struct stat *st)
{
    return resolve(s, path, below_home(s, path) ? s->home_len : 0, st);
}

static bool has_secret_name(const char *path)
{
    for (const char *part = path; *part;) {
        part += *part == '/';
        size_t len = strcspn(part, "/");
        for (size_t i = 0; i < COUNT(secret_names); i++) {
            if (strlen(secret_names[i]) == len && strncmp(secret_names[i], part, len) == 0)
                return true;
        }
        part += len;
    }
    return false;
}

/* Nobody but the caller and root can put another program there. */
static bool is_trusted(const struct stat *st)
{
    if ((st->st_uid != 0 && st->st_uid != geteuid()) || st->st_mode & S_IWOTH)
        return false;
    /* A group with the owner's own number is the owner alone. The store of nix is open to a group
     * that can only add to it. */
    return !(st->st_mode & S_IWGRP) || st->st_gid == 0 || st->st_gid == st->st_uid ||
           st->st_mode & S_ISVTX;
}

static bool is_system(const struct search *s, const char *path)
{
    return !(s->home && path_is_below(path, s->home)) && !path_is_below(path, s->workspace) &&
           is_below_any(path, system_places, COUNT(system_places));
}

/* Whether a canonical path may be shown, if `st` is what is there. */
static bool is_acceptable(const struct search *s, const char *path, const struct stat *st)
{
    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return false;
    if (path_is_below(path, s->workspace) || path_is_below(s->workspace, path) ||
        path_is_below(s->home, path) || !is_trusted(st))
        return false;
    const char *rest = below_home(s, path);
    if (rest)
        return !has_secret_name(rest) && strcmp(rest, ".config") != 0;
    /* The top directories of a system hold more than a toolchain. */
    return strchr(path + 1, '/') && !has_secret_name(path) &&
           !is_below_any(path, never_outside, COUNT(never_outside));
}

/* --- what is shown ---------------------------------------------------------------------------- */

static void show(struct search *s, const char *path)
{
    if (is_system(s, path) || is_below_any(path, s->shown, s->shown_count))
        return;
    size_t kept = 0;
    for (size_t i = 0; i < s->shown_count; i++) {
        if (!path_is_below(s->shown[i], path))
            s->shown[kept++] = s->shown[i];
    }
    s->shown_count = kept;
    if (kept < TOOLCHAINS_SHOWN_MAX)
        s->shown[s->shown_count++] = path;
}

static void add_link(struct search *s, const char *path, const char *target)
{
    if (strcmp(path, target) == 0 || !below_home(s, path) || s->link_count == TOOLCHAINS_SHOWN_MAX)
        return;
    if (path_is_below(path, s->workspace) || path_is_below(s->workspace, path))
        return;
    for (size_t i = 0; i < s->link_count; i++) {
        if (path_is_below(path, s->links[i].path))
            return;
    }
    s->links[s->link_count++] = (struct toolchain_link){path, target};
}

/* Links that lie in what is shown are there already, and one below another would not fit. */
static void drop_links(struct search *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->link_count; i++) {
        const char *path = s->links[i].path;
        bool drop = is_below_any(path, s->shown, s->shown_count);
        for (size_t k = 0; !drop && k < s->link_count; k++)
            drop = k != i && path_is_below(path, s->links[k].path);
        if (!drop)
            s->links[kept++] = s->links[i];
    }
    s->link_count = kept;
}

static bool is_visible(const struct search *s, const char *path)
{
    return is_system(s, path) || is_below_any(path, s->shown, s->shown_count);
}

/* Whether the name itself works inside, not only what it leads to. */
static bool is_named_inside(const struct search *s, const char *path)
{
    for (size_t i = 0; i < s->link_count; i++) {
        if (path_is_below(path, s->links[i].path))
            return true;
    }
    return is_visible(s, path);
}

/* --- PATH ------------------------------------------------------------------------------------- */

static void add_entry(struct search *s, const char *text, size_t len)
{
    bool dots;
    struct entry entry = {.text = normal_path(s, text, len, &dots)};
    if (!entry.text && dots) {
        const char *path = arena_copy(s->arena, text, len);
        path = path ? resolve(s, path, 0, &entry.st) : NULL;
        entry.text = path ? normal_path(s, path, strlen(path), &dots) : NULL;
    }
    if (!entry.text || s->entry_count == TOOLCHAINS_PATH_MAX ||
        path_is_below(entry.text, s->workspace))
        return;
    for (size_t i = 0; i < s->entry_count; i++) {
        if (strcmp(s->entries[i].text, entry.text) == 0)
            return;
    }
    if (!below_home(s, entry.text)) {
        if (is_below_any(entry.text, passing_places, COUNT(passing_places)))
            return;
        /* Some tools make a link there for each shell, to one of their versions. */
        entry.row_only = path_is_below(entry.text, "/run");
        entry.plain = is_one_of(entry.text, system_path, COUNT(system_path));
    }
    if (entry.plain)
        entry.place = stat(entry.text, &entry.st) == 0 ? entry.text : NULL;
    else
        entry.place = resolve_any(s, entry.text, &entry.st);
    if (!entry.place || !S_ISDIR(entry.st.st_mode) || path_is_below(entry.place, s->workspace))
        return;
    /* A link can lead to a name that would be two entries. */
    if (strchr(entry.place, ':') || strchr(entry.place, '\n'))
        return;
    s->entries[s->entry_count++] = entry;
}

/*
 * Managers whose shims are shell scripts that look for a version with a handful of processes, which
 * is more than a box may have. The version that the shim would come to stands before it.
 */
static const struct {
    const char *dir; /* ends with this */
    const char *variable, *local;
} shims[] = {
    {"/.pyenv/shims", "PYENV_VERSION", ".python-version"},
    {"/.rbenv/shims", "RBENV_VERSION", ".ruby-version"},
    {"/.nodenv/shims", "NODENV_VERSION", ".node-version"},
    {"/.goenv/shims", "GOENV_VERSION", ".go-version"},
    {"/.plenv/shims", "PLENV_VERSION", ".perl-version"},
};

/* The first line of a small file, if it is a name; the inside may have written it. */
static bool read_version(const char *path, char *ret, size_t size)
{
    struct stat st;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, ret, size - 1) : -1;
    if (n <= 0)
        return false;
    ret[n] = '\0';
    ret[strcspn(ret, " \t\r\n:")] = '\0';
    return true;
}

static bool is_version(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/');
}

static void add_version(struct search *s, const char *text, size_t len)
{
    enum { VERSION_MAX = 128 };
    char version[VERSION_MAX];
    for (size_t i = 0; i < COUNT(shims); i++) {
        size_t end = strlen(shims[i].dir), root = len - strlen("/shims");
        if (len <= end || strncmp(text + len - end, shims[i].dir, end) != 0)
            continue;
        const char *given = surroundings_variable(s->environment, shims[i].variable);
        const char *local = arena_format(s->arena, "%s/%s", s->workspace, shims[i].local);
        const char *global = arena_format(s->arena, "%.*s/version", (int)root, text);
        if (given && *given)
            snprintf(version, sizeof(version), "%.*s", (int)strcspn(given, ":"), given);
        else if (!local || !global ||
                 (!read_version(local, version, sizeof(version)) &&
                  !read_version(global, version, sizeof(version))))
            return;
        const char *bin = is_version(version) ? arena_format(s->arena, "%.*s/versions/%s/bin",
                                                             (int)root, text, version)
                                              : NULL;
        if (bin)
            add_entry(s, bin, strlen(bin));
        return;
    }
}

static void read_path(struct search *s, const char *path)
{
    /* What is too long for the bound is not read to its end either. */
    for (size_t i = 0; path && *path && i < TOOLCHAINS_PATH_MAX; i++) {
        size_t len = strcspn(path, ":");
        add_version(s, path, len);
        add_entry(s, path, len);
        path += len + (path[len] == ':');
    }
}

static const char *write_path(const struct search *s)
{
    const char *written[TOOLCHAINS_PATH_MAX + COUNT(system_path)];
    size_t count = 0;
    for (size_t i = 0; i < s->entry_count; i++) {
        const struct entry *entry = &s->entries[i];
        const char *text = entry->text;
        if (!entry->plain) {
            if (!is_visible(s, entry->place) || (entry->row_only && !entry->known))
                continue;
            if (!is_named_inside(s, text))
                text = entry->place;
        }
        if (!is_one_of(text, written, count))
            written[count++] = text;
    }
    for (size_t i = 0; i < COUNT(system_path); i++) {
        if (!is_one_of(system_path[i], written, count))
            written[count++] = system_path[i];
    }
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += strlen(written[i]) + 1;
    char *text = arena_alloc(s->arena, len + 1), *end = text;
    for (size_t i = 0; text && i < count; i++) {
        size_t part = strlen(written[i]);
        memcpy(end, written[i], part);
        end += part;
        *end++ = i + 1 < count ? ':' : '\0';
    }
    return text;
}

/* --- finding ---------------------------------------------------------------------------------- */

static struct spot *add_spot(struct search *s, const struct row *row, const char *text)
{
    if (s->spot_count == SPOTS_MAX)
        return NULL;
    s->spots[s->spot_count] = (struct spot){.row = row, .text = text, .text_len = strlen(text)};
    return &s->spots[s->spot_count++];
}

/* The values of the rows' variables, in one pass over the environment. */
static void read_variables(struct search *s)
{
    for (const char *const *v = s->environment; *v; v++) {
        size_t name = strcspn(*v, "=");
        for (size_t i = 0; i < COUNT(rows); i++) {
            const char *row = rows[i].variable;
            if (!row || row[0] != (*v)[0] || strncmp(row, *v, name) != 0 || row[name] ||
                !(*v)[name])
                continue;
            const char *value = *v + name + 1;
            bool dots;
            s->values[i] = normal_path(s, value, strlen(value), &dots);
            /* Only the first of a list could be meant, and lists of places are rare. */
            if (s->values[i] && strchr(s->values[i], ':'))
                s->values[i] = NULL;
        }
    }
}

/* The places of all rows: the usual ones, and those that variables name, which count as found. */
static void add_spots(struct search *s)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *place = rows[i].place;
        if (!place || strchr(place, '*'))
            continue;
        const char *text = place[0] == '/' ? place : join(s, s->home, place, strlen(place));
        if (text)
            add_spot(s, &rows[i], text);
    }
    size_t usual = s->spot_count;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *text = s->values[i];
        if (!text || is_system(s, text))
            continue;
        /* In the usual place of some row: found there, by the rules of that row. */
        bool known = false;
        for (size_t k = 0; k < usual; k++) {
            if (path_is_below(text, s->spots[k].text))
                known = s->spots[k].found = true;
        }
        struct spot *spot = known ? NULL : add_spot(s, &rows[i], text);
        if (spot)
            spot->found = spot->by_variable = true;
    }
}

/* Whether a row's place with a '*' is at or above `path`; then the concrete place. */
static const char *match_star(struct search *s, const struct row *row, const char *path)
{
    const char *rest = below_home(s, path);
    size_t fixed = strlen(row->place) - 1;
    if (!rest || strncmp(rest, row->place, fixed) != 0)
        return NULL;
    size_t len = fixed + strcspn(rest + fixed, "/");
    return len > fixed ? arena_copy(s->arena, path, (size_t)(rest - path) + len) : NULL;
}

static bool is_in_spot(const char *path, const struct spot *spot)
{
    return strncmp(path, spot->text, spot->text_len) == 0 &&
           (path[spot->text_len] == '/' || path[spot->text_len] == '\0');
}

static void match_entry(struct search *s, struct entry *entry)
{
    for (size_t i = 0; i < s->spot_count; i++) {
        struct spot *spot = &s->spots[i];
        if (is_in_spot(entry->text, spot) ||
            (entry->place != entry->text && is_in_spot(entry->place, spot)) ||
            (spot->place && path_is_below(entry->place, spot->place)))
            entry->known = spot->found = true;
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!rows[i].place || !strchr(rows[i].place, '*'))
            continue;
        const char *text = match_star(s, &rows[i], entry->text);
        if (!text)
            text = match_star(s, &rows[i], entry->place);
        if (!text)
            continue;
        entry->known = true;
        bool there = false;
        for (size_t k = 0; !there && k < s->spot_count; k++)
            there = strcmp(s->spots[k].text, text) == 0;
        struct spot *spot = there ? NULL : add_spot(s, &rows[i], text);
        if (spot)
            spot->found = true;
    }
}

/* Looks at a place. One that a variable alone names must hold what such a toolchain holds. */
static bool look_at(struct search *s, struct spot *spot)
{
    struct stat st;
    const char *place = resolve_any(s, spot->text, &st);
    if (!place || !S_ISDIR(st.st_mode) || path_is_below(s->home, place))
        return false;
    if (spot->by_variable && spot->row->mark) {
        const char *mark = join(s, place, spot->row->mark, strlen(spot->row->mark));
        if (!mark || access(mark, F_OK) < 0)
            return false;
    }
    spot->place = place;
    return true;
}

/* A part of a place that exists, by a name that may be a link. Whether the box then has it. */
static bool show_part(struct search *s, const char *place, const char *part, size_t len)
{
    const char *path = place, *target = place;
    struct stat st;
    if (len == 1 && part[0] == '.') {
        if (lstat(place, &st) < 0)
            return false;
    } else {
        bool of_home = part[0] == '~';
        const char *base = of_home ? s->home : place;
        size_t skip = of_home ? 2 : 0;
        path = join(s, base, part + skip, len - skip);
        target = path ? resolve(s, path, strlen(base), &st) : NULL;
        if (!target)
            return false;
    }
    if (!is_system(s, target) && !is_acceptable(s, target, &st))
        return false;
    show(s, target);
    add_link(s, path, target);
    return true;
}

static void show_spot(struct search *s, const struct spot *spot)
{
    const char *parts = spot->row->parts ? spot->row->parts : ".", *part;
    size_t len;
    bool any = false;
    while ((part = next_word(&parts, &len)))
        any = show_part(s, spot->place, part, len) || any;
    if (any)
        add_link(s, spot->text, spot->place);
}

/* Rows that a found one needs come along from their usual places, unless a variable has led to
 * them. */
static void add_needs(struct search *s, const struct row *row)
{
    const char *names = row->needs ? row->needs : "", *name;
    size_t len;
    while ((name = next_word(&names, &len))) {
        bool there = false;
        struct spot *usual = NULL;
        for (size_t i = 0; i < s->spot_count; i++) {
            struct spot *spot = &s->spots[i];
            if (strlen(spot->row->name) != len || strncmp(spot->row->name, name, len) != 0)
                continue;
            there = there || spot->found;
            if (!spot->by_variable)
                usual = spot;
        }
        if (usual && !there)
            usual->found = true;
    }
}

static bool holds_toolchain(const struct search *s, const char *path)
{
    for (size_t i = 0; i < s->spot_count; i++) {
        if (s->spots[i].row->parts && path_is_below(s->spots[i].text, path))
            return true;
    }
    return false;
}

/* A directory below home that no row knows: it alone, if it looks like one for programs. */
static void show_unknown(struct search *s, const struct entry *entry)
{
    const char *rest = below_home(s, entry->place);
    if (!below_home(s, entry->text) || !is_acceptable(s, entry->place, &entry->st) ||
        has_secret_name(below_home(s, entry->text)))
        return;
    if (rest &&
        (is_below_any(rest, unknown_never_in, COUNT(unknown_never_in)) ||
         is_one_of(rest, unknown_never, COUNT(unknown_never)) || holds_toolchain(s, entry->place)))
        return;
    show(s, entry->place);
    add_link(s, entry->text, entry->place);
}

static void find_all(struct search *s)
{
    add_spots(s);
    /* Those that variables name first: PATH may know them by where they are in truth. */
    for (size_t i = 0; i < s->spot_count; i++) {
        if (s->spots[i].found)
            s->spots[i].found = look_at(s, &s->spots[i]);
    }
    for (size_t i = 0; i < s->entry_count; i++) {
        if (!s->entries[i].plain)
            match_entry(s, &s->entries[i]);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t k = 0; k < s->spot_count; k++) {
            if (s->spots[k].found && s->spots[k].row == &rows[i])
                add_needs(s, &rows[i]);
        }
    }
    for (size_t i = 0; i < s->spot_count; i++) {
        struct spot *spot = &s->spots[i];
        if (spot->found && !spot->place)
            spot->found = look_at(s, spot);
        if (spot->found)
            show_spot(s, spot);
    }
    for (size_t i = 0; i < s->entry_count; i++) {
        if (!s->entries[i].plain && !s->entries[i].known)
            show_unknown(s, &s->entries[i]);
    }
    drop_links(s);
}

/* --- variables -------------------------------------------------------------------------------- */

static bool is_place_of_shown(const struct search *s, const char *path)
{
    for (size_t i = 0; i < s->spot_count; i++) {
        const struct spot *spot = &s->spots[i];
        if (!spot->found || (strcmp(path, spot->text) != 0 && strcmp(path, spot->place) != 0))
            continue;
        for (size_t k = 0; k < s->shown_count; k++) {
            if (path_is_below(s->shown[k], spot->place))
                return true;
        }
    }
    return false;
}

/* NAME=VALUE with home canonical, if each path of the value is one that works inside. */
static const char *make_variable(const struct search *s, const char *name, const char *value)
{
    const char *text = NULL;
    for (size_t parts = 0; *value && parts < TOOLCHAINS_PATH_MAX; parts++) {
        size_t len = strcspn(value, ":");
        bool dots;
        const char *path = normal_path(s, value, len, &dots);
        if (!path || !is_named_inside(s, path))
            return NULL;
        text = text ? arena_format(s->arena, "%s:%s", text, path)
                    : arena_format(s->arena, "%s=%s", name, path);
        value += len + (value[len] == ':');
        if (!text)
            return NULL;
    }
    return *value ? NULL : text;
}

static const char **find_variables(const struct search *s, size_t *ret_count)
{
    const char **list =
        arena_alloc_array(s->arena, COUNT(rows) + COUNT(more_variables), sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; list && i < COUNT(rows); i++) {
        const char *path = s->values[i], *rest = path ? below_home(s, path) : NULL;
        bool usual = rest && rows[i].place && strcmp(rest, rows[i].place) == 0;
        if (path && !(usual && rows[i].flags & ROW_KNOWS_ITS_PLACE) &&
            (is_named_inside(s, path) || is_place_of_shown(s, path)))
            list[count++] = arena_format(s->arena, "%s=%s", rows[i].variable, path);
    }
    for (size_t i = 0; list && i < COUNT(more_variables); i++) {
        const char *value = surroundings_variable(s->environment, more_variables[i]);
        const char *text = value ? make_variable(s, more_variables[i], value) : NULL;
        if (text)
            list[count++] = text;
    }
    *ret_count = count;
    return list;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* HOME may be a link to where home is in truth; PATH then has it as it is written. */
static void know_home(struct search *s, const char *home)
{
    if (!home || home[0] != '/' || !home[1])
        return;
    s->home = home;
    s->home_len = strlen(home);
    const char *text = surroundings_variable(s->environment, "HOME");
    bool dots;
    if (text)
        text = normal_path(s, text, strlen(text), &dots);
    struct stat st;
    const char *real = text && text[1] && strcmp(text, home) != 0 ? resolve(s, text, 0, &st) : NULL;
    if (real && strcmp(real, home) == 0)
        s->home_text = text;
}

int toolchains_find(struct arena *arena, bool enabled, const char *home, const char *workspace,
                    const char *const *writable, const char *const *environment,
                    struct toolchains *ret, struct err *e)
{
    struct search s = {
        .arena = arena,
        .workspace = workspace,
        .writable = writable,
        .environment = environment,
        .entries = arena_alloc_array(arena, TOOLCHAINS_PATH_MAX, sizeof(struct entry)),
        .spots = arena_alloc_array(arena, SPOTS_MAX, sizeof(struct spot)),
        .shown = arena_alloc_array(arena, TOOLCHAINS_SHOWN_MAX, sizeof(*s.shown)),
        .links = arena_alloc_array(arena, TOOLCHAINS_SHOWN_MAX, sizeof(*s.links)),
    };
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    know_home(&s, home);
    read_path(&s, surroundings_variable(environment, "PATH"));
    struct toolchains found = {0};
    if (enabled && s.home && environment) {
        read_variables(&s);
        find_all(&s);
        found.variables = find_variables(&s, &found.variable_count);
    }
    found.shown = s.shown;
    found.shown_count = s.shown_count;
    found.links = s.links;
    found.link_count = s.link_count;
    found.path = write_path(&s);
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = found;
    return 0;
}
