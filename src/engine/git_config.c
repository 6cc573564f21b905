/* Reading git's files, and the syntax of its configuration; see git_config.h. */
#include "engine/git_config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/surroundings.h"

/* --- reading files ---------------------------------------------------------------------------- */

static char *read_regular(struct arena *arena, int fd, size_t max, size_t *ret_len,
                          struct stat *ret_st)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        (size_t)st.st_size > max)
        return NULL;
    /* What grows while it is read counts as it was. */
    size_t size = (size_t)st.st_size, len = 0;
    char *text = arena_alloc(arena, size + 1);
    while (text && len < size) {
        ssize_t n = read(fd, text + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return NULL;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (text)
        text[len] = '\0';
    *ret_len = len;
    if (ret_st)
        *ret_st = st;
    return text;
}

/* O_NONBLOCK: opening a FIFO must not wait for its writer. */
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

char *git_read_file(struct arena *arena, int dir, const char *name, int flags, size_t max,
                    size_t *ret_len, struct stat *ret_st)
{
    FD_CLEANUP int fd = openat(dir, name, READ_FLAGS | flags);
    return read_regular(arena, fd, max, ret_len, ret_st);
}

char *git_read_canonical(struct arena *arena, const char *path, size_t max, size_t *ret_len)
{
    FD_CLEANUP int fd = surroundings_open(path, READ_FLAGS);
    return read_regular(arena, fd, max, ret_len, NULL);
}

/* --- git's configuration syntax --------------------------------------------------------------- */

/* The next byte; a newline at the end of the text and for CR LF. */
static char config_byte(struct git_config *c)
{
    if (c->next == c->end)
        return '\n';
    char byte = *c->next++;
    if (byte == '\r' && c->next < c->end && *c->next == '\n')
        byte = *c->next++;
    return byte;
}

static char config_peek(const struct git_config *c)
{
    if (c->next == c->end || (*c->next == '\r' && c->next + 1 < c->end && c->next[1] == '\n'))
        return '\n';
    return *c->next;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool is_letter(char c)
{
    return is_name(c) && c != '-' && !(c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A name in lower case; one that is too long for us is empty, since no such name matters here. */
static void config_name(struct git_config *c, char *name, const char *more)
{
    size_t len = 0;
    char byte;
    while ((byte = config_peek(c)) != '\n' && (is_name(byte) || (*more && byte == *more))) {
        config_byte(c);
        if (len < GIT_CONFIG_KEY_MAX)
            name[len++] = (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    }
    name[len < GIT_CONFIG_KEY_MAX ? len : 0] = '\0';
}

/* Behind '['. False for what git would refuse. */
static bool config_section(struct git_config *c)
{
    config_name(c, c->section, ".");
    char byte = config_byte(c), *dot = strchr(c->section, '.');
    c->has_subsection = dot != NULL;
    buf_clear(&c->subsection);
    if (dot) {
        buf_append_text(&c->subsection, dot + 1);
        *dot = '\0';
    }
    if (byte == ']')
        return !c->subsection.failed;
    if (!is_blank(byte))
        return false;
    while (is_blank(byte))
        byte = config_byte(c);
    if (byte != '"')
        return false;
    c->has_subsection = true;
    if (dot)
        c->section[0] = '\0'; /* both ways at once: not one that is asked for */
    buf_clear(&c->subsection);
    while ((byte = config_byte(c)) != '"') {
        if (byte == '\\')
            byte = config_byte(c);
        if (byte == '\n')
            return false;
        buf_append_byte(&c->subsection, byte);
    }
    return config_byte(c) == ']' && !c->subsection.failed;
}

/* Behind '=', to the end of the line. */
static bool config_value(struct git_config *c)
{
    bool quoted = false;
    size_t end = 0; /* blanks behind this are dropped, unless something follows */
    buf_clear(&c->value);
    for (;;) {
        char byte = config_byte(c);
        if (byte == '\n')
            break;
        if (!quoted && (byte == '#' || byte == ';')) {
            while (config_byte(c) != '\n')
                ;
            break;
        }
        if (!quoted && is_blank(byte)) {
            if (c->value.len)
                buf_append_byte(&c->value, byte);
            continue;
        }
        if (byte == '"') {
            quoted = !quoted;
            end = c->value.len;
            continue;
        }
        if (byte == '\\') {
            static const char escapes[][2] = {
                {'n', '\n'}, {'t', '\t'}, {'b', '\b'}, {'\\', '\\'}, {'"', '"'}};
            byte = config_byte(c);
            if (byte == '\n') { /* goes on in the next line */
                end = c->value.len;
                continue;
            }
            size_t i = 0;
            while (i < sizeof(escapes) / sizeof(escapes[0]) && escapes[i][0] != byte)
                i++;
            if (i == sizeof(escapes) / sizeof(escapes[0]))
                return false;
            byte = escapes[i][1];
        }
        buf_append_byte(&c->value, byte);
        end = c->value.len;
    }
    if (quoted || c->value.failed)
        return false;
    if (c->value.len > end) {
        c->value.len = end;
        c->value.data[end] = '\0';
    }
    return true;
}

int git_config_next(struct git_config *c)
{
    while (c->next < c->end) {
        char byte = config_byte(c);
        if (byte == '\n' || is_blank(byte))
            continue;
        if (byte == '#' || byte == ';') {
            while (config_byte(c) != '\n')
                ;
            continue;
        }
        if (byte == '[') {
            if (!config_section(c))
                return 0;
            continue;
        }
        if (!is_letter(byte))
            return 0;
        c->next--;
        config_name(c, c->key, "");
        while ((byte = config_byte(c)) == ' ' || byte == '\t')
            ;
        if (byte == '\n')
            continue;
        if (byte != '=' || !config_value(c))
            return 0;
        return 1;
    }
    return 0;
}

void git_config_init(struct git_config *c, struct arena *arena, const char *text, size_t len)
{
    *c = (struct git_config){.next = text, .end = text + len};
    buf_init(&c->value, arena->allocator, GIT_CONFIG_BYTES_MAX);
    buf_init(&c->subsection, arena->allocator, GIT_CONFIG_BYTES_MAX);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        c->next += 3;
}

void git_config_release(struct git_config *c)
{
    buf_release(&c->value);
    buf_release(&c->subsection);
}

static bool is_variable(const struct git_config *c, const char *section, const char *key)
{
    return strcmp(c->section, section) == 0 && strcmp(c->key, key) == 0;
}

bool git_config_is(const struct git_config *c, const char *section, const char *key)
{
    return !c->has_subsection && is_variable(c, section, key);
}

bool git_config_is_of_some(const struct git_config *c, const char *section, const char *key)
{
    return c->has_subsection && is_variable(c, section, key);
}

const char *git_config_path(struct arena *arena, const struct git_config *c, const char *base,
                            const char *home)
{
    const char *path = c->value.data;
    if (c->value.len == 0 || strlen(path) != c->value.len || strncmp(path, "%(", 2) == 0)
        return NULL;
    if (path[0] == '/')
        return arena_copy(arena, path, c->value.len);
    if (path[0] == '~')
        return path[1] == '/' && home ? arena_format(arena, "%s%s", home, path + 1) : NULL;
    return arena_format(arena, "%s/%s", base, path);
}

/* Keys that `git init` and `git clone` write; any other may name a program. */
bool git_config_is_plain(struct arena *arena, int fd)
{
    static const struct {
        const char *section, *key;
        bool subsection;
    } plain[] = {
        {"core", "repositoryformatversion", false},
        {"core", "filemode", false},
        {"core", "bare", false},
        {"core", "logallrefupdates", false},
        {"core", "ignorecase", false},
        {"core", "precomposeunicode", false},
        {"core", "symlinks", false},
        {"user", "name", false},
        {"user", "email", false},
        {"init", "defaultbranch", false},
        {"extensions", "objectformat", false},
        {"extensions", "refstorage", false},
        {"remote", "url", true},
        {"remote", "fetch", true},
        {"branch", "remote", true},
        {"branch", "merge", true},
    };
    char text[16384];
    ssize_t n = read(fd, text, sizeof(text));
    if (n < 0 || n == (ssize_t)sizeof(text))
        return false;
    struct git_config c;
    git_config_init(&c, arena, text, (size_t)n);
    bool is_plain = true;
    while (is_plain && git_config_next(&c)) {
        bool found = false;
        for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
            found |= plain[i].subsection == c.has_subsection &&
                     strcmp(c.section, plain[i].section) == 0 && strcmp(c.key, plain[i].key) == 0;
        /* Some addresses of remotes are programs. */
        is_plain = found && !(strcmp(c.key, "url") == 0 && strstr(c.value.data, "::"));
    }
    /* What git would refuse to read, and what follows it, is not known. */
    is_plain = is_plain && c.next == c.end;
    git_config_release(&c);
    return is_plain;
}
