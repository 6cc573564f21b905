/*
 * The values that must not be written down: of variables of the caller's environment and of files,
 * judged by their names. A program inside cannot see most of them; an agent may have them all the
 * same, and type them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/engine.h"

enum { FILE_BYTES_MAX = 1 << 16 };

/* Where people keep them; all of these have names beside the values. */
static const char *const in_workspace[] = {".env", ".env.local", ".env.development",
                                           ".env.production", ".env.test"};
static const char *const in_home[] = {".netrc",
                                      ".npmrc",
                                      ".pypirc",
                                      ".aws/credentials",
                                      ".git-credentials",
                                      ".docker/config.json",
                                      ".config/gh/hosts.yml"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The workspace may hold whatever the inside likes: so many values of it, and only such as nobody
 * could mistake for a word or a path. */
enum { FROM_WORKSPACE_MAX = 200, STRONG_LEAST = 12 };

struct gathering {
    struct arena *arena;
    struct looks *looks;
    bool strong_only;
    size_t most;
    struct redact_value *values;
    size_t count, room;
};

/* As tokens and passwords of machines are: long, in one piece, letters and digits mixed. */
static bool is_strong(const char *value, size_t len)
{
    bool digit = false, letter = false, plain = len >= STRONG_LEAST;
    for (size_t i = 0; plain && i < len; i++) {
        digit |= value[i] >= '0' && value[i] <= '9';
        letter |= (value[i] | 32) >= 'a' && (value[i] | 32) <= 'z';
        plain = value[i] > ' ' && value[i] != '/';
    }
    return plain && digit && letter;
}

static void add(struct gathering *g, const char *kind, const char *name, size_t name_len,
                const char *value, size_t len)
{
    if (g->count >= g->most || !redact_value_is_usable(value, len) ||
        (g->strong_only && !is_strong(value, len)))
        return;
    if (g->count == g->room) {
        size_t room = g->room ? g->room * 2 : 16;
        struct redact_value *more = arena_alloc_array(g->arena, room, sizeof(*more));
        if (!more)
            return; /* which the arena remembers */
        if (g->count)
            memcpy(more, g->values, g->count * sizeof(*more));
        g->values = more;
        g->room = room;
    }
    /* Only what a name may have. */
    char plain[64];
    size_t used = 0;
    for (size_t i = 0; i < name_len && used < sizeof(plain) - 1; i++) {
        if (strchr("_-.", name[i]) || (name[i] >= '0' && name[i] <= '9') ||
            ((name[i] | 32) >= 'a' && (name[i] | 32) <= 'z'))
            plain[used++] = name[i];
    }
    plain[used] = '\0';
    const char *label = arena_format(g->arena, "%s.%s", kind, used ? plain : "value");
    const char *copy = arena_copy(g->arena, value, len);
    if (label && copy)
        g->values[g->count++] = (struct redact_value){.name = label, .bytes = copy, .len = len};
}

static void look_at_environment(struct gathering *g, const char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        size_t len = equals ? (size_t)(equals - *environment) : 0;
        if (equals && redact_name_is_secret(*environment, len))
            add(g, "env", *environment, len, equals + 1, strlen(equals + 1));
    }
}

/* NAME=VALUE, "name": "value", name: value, `password value`: a name, something between, a value.
 */
static void look_at_line(struct gathering *g, const char *line, size_t len)
{
    static const char blanks[] = " \t\"'";
    const char *end = line + len;
    while (line < end && strchr(" \t\"'{,", *line))
        line++;
    size_t name = 0;
    while (line + name < end && !strchr(" \t\"':=", line[name]))
        name++;
    const char *value = line + name;
    while (value < end && (strchr(blanks, *value) || *value == ':' || *value == '='))
        value++;
    while (end > value && (strchr(blanks, end[-1]) || strchr(",}\r", end[-1])))
        end--;
    if (name && end > value && redact_name_is_secret(line, name))
        add(g, "file", line, name, value, (size_t)(end - value));
}

/* What stands between the colon and the at sign of an address. */
static void look_at_address(struct gathering *g, const char *line, size_t len)
{
    const char *start = memmem(line, len, "://", 3), *end = line + len;
    const char *colon = start ? memchr(start + 3, ':', (size_t)(end - start - 3)) : NULL;
    const char *at = colon ? memchr(colon, '@', (size_t)(end - colon)) : NULL;
    if (at)
        add(g, "file", "password", 8, colon + 1, (size_t)(at - colon - 1));
}

static void look_at_file(struct gathering *g, const char *dir, const char *name)
{
    const char *path = arena_path(g->arena, dir, name);
    if (!path || looks_missing(g->looks, path))
        return;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    size_t size = st.st_size < FILE_BYTES_MAX ? (size_t)st.st_size : FILE_BYTES_MAX;
    char *text = arena_alloc(g->arena, size + 1);
    ssize_t n = text ? read(fd, text, size) : 0;
    for (const char *at = text, *end = text + (n > 0 ? n : 0); at && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        const char *line = at;
        if (len > 7 && strncmp(line, "export ", 7) == 0) {
            line += 7;
            len -= 7;
        }
        look_at_line(g, line, len);
        look_at_address(g, line, len);
        /* .netrc has several words on a line. */
        for (const char *word = line;
             (word = memmem(word, len - (size_t)(word - line), " password ", 10)); word++)
            look_at_line(g, word + 1, strcspn(word + 10, " \n") + 9);
        at = newline ? newline + 1 : end;
    }
}

static int make(const struct gathering *g, const char *replacement, struct redactor **ret,
                struct err *e)
{
    /* A value that is not known would be written down. */
    if (g->arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    const struct redact_options options = {
        .values = g->values, .value_count = g->count, .replacement = replacement};
    return redactor_new(&options, ret, e);
}

int secrets_redactors(struct arena *arena, const char *const *environment, const char *home,
                      const char *workspace, const char *replacement, struct looks *looks,
                      struct redactor **ret, struct redactor **ret_output, struct err *e)
{
    struct gathering g = {
        .arena = arena, .looks = looks, .most = REDACT_VALUES_MAX - FROM_WORKSPACE_MAX};
    look_at_environment(&g, environment);
    for (size_t i = 0; home && i < COUNT(in_home); i++)
        look_at_file(&g, home, in_home[i]);
    int r = make(&g, replacement, ret, e);
    const size_t own = g.count;
    g.strong_only = true;
    g.most = g.count + FROM_WORKSPACE_MAX;
    for (size_t i = 0; r == 0 && workspace && i < COUNT(in_workspace); i++)
        look_at_file(&g, workspace, in_workspace[i]);
    if (r == 0 && (g.count > own || arena->failed))
        r = make(&g, replacement, ret_output, e);
    return r;
}

int secrets_redactor(struct arena *arena, const char *const *environment, const char *home,
                     const char *workspace, struct redactor **ret, struct err *e)
{
    struct redactor *all = NULL;
    int r = secrets_redactors(arena, environment, home, workspace, NULL, NULL, ret, &all, e);
    if (r < 0 || all) {
        redactor_free(*ret);
        *ret = all;
    }
    return r;
}
