/*
 * Loading: the tables in tests/cases/config, and what they cannot say.
 *
 *   policy_load_test [DIRECTORY]     UPDATE=1 writes what is said into the tables, to be looked at
 *
 * A case is a run of lines, with an empty line or a comment (#) around it:
 *
 *   @ user/config.yaml           a file: below system/, user/ or project/ (which is .nacre)
 *   > shell:                     its lines; in a line that begins with >\ the escapes \n, \t,
 * \\ and >   unknown: maybe           \xHH stand for bytes, and no line end is added $ agent=coder
 * what the command line says: agent, profile, allow, network, limit, read-path, write-path, config
 *   ! user/config.yaml:2:12: …   the refusal
 *   = shell.unknown "deny"       or instead a key of the effective policy and its value
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/load.h"
#include "tap.h"

enum { FILE_MAX = 4 << 20, FILES_MAX = 100, ARENA_MAX = 64 << 20, VALUES_MAX = 8 };

static char top[] = "/tmp/nacre-policy.XXXXXX";

/* --- a place of its own --------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return ftw->level == 0 ? 0 : remove(path);
}

static void empty_top(void)
{
    nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    char path[PATH_MAX];
    static const char *const folders[] = {"system", "user", "ws"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", top, folders[i]);
        mkdir(path, 0755);
    }
}

/* "project/x" is ws/.nacre/x. */
static void place(const char *name, char ret[static PATH_MAX])
{
    if (strncmp(name, "project/", 8) == 0)
        snprintf(ret, PATH_MAX, "%s/ws/.nacre/%s", top, name + 8);
    else
        snprintf(ret, PATH_MAX, "%s/%s", top, name);
}

static bool put(const char *name, const char *bytes, size_t len)
{
    char path[PATH_MAX];
    place(name, path);
    for (char *slash = path + sizeof(top); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = fd >= 0 && write(fd, bytes, len) == (ssize_t)len;
    if (fd >= 0)
        close(fd);
    return written;
}

static void put_text(const char *name, const char *text)
{
    tap_check(put(name, text, strlen(text)), "wrote %s", name);
}

struct call {
    struct policy_request request;
    const char *lists[4][VALUES_MAX + 1];
    size_t counts[4];
    char system[PATH_MAX], user[PATH_MAX], workspace[PATH_MAX], config[PATH_MAX];
};

static void call_init(struct call *c)
{
    memset(c, 0, sizeof(*c));
    place("system", c->system);
    place("user", c->user);
    place("ws", c->workspace);
    c->request = (struct policy_request){
        .system_dir = c->system, .user_dir = c->user, .workspace = c->workspace};
}

/* The message with "TOP/" taken out and the project's directory by its short name. */
static void shorten(char *message)
{
    static const struct {
        const char *from, *to;
    } names[] = {{"/ws/.nacre/", "project/"}, {"/ws/.nacre", "project"}, {"/", ""}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char from[PATH_MAX], *at;
        snprintf(from, sizeof(from), "%s%s", top, names[i].from);
        while ((at = strstr(message, from))) {
            size_t to_len = strlen(names[i].to), from_len = strlen(from);
            memmove(at + to_len, at + from_len, strlen(at + from_len) + 1);
            memcpy(at, names[i].to, to_len);
        }
    }
}

static const struct policy *load(struct arena *arena, const struct call *c, struct err *e)
{
    const struct policy *policy = NULL;
    memset(e, 0, sizeof(*e));
    if (policy_load(arena, &c->request, &policy, e) < 0) {
        shorten(e->message);
        return NULL;
    }
    return policy;
}

/* --- the tables ----------------------------------------------------------------------------- */

struct test_case {
    char name[128];
    char file[256];
    struct buf bytes;
    struct call call;
    bool started, has_file;
};

static int hex_digit(char c)
{
    static const char DIGITS[] = "0123456789abcdef";
    const char *digit = c ? strchr(DIGITS, c) : NULL;
    return digit ? (int)(digit - DIGITS) : -1;
}

static void add_line(struct buf *out, const char *line, size_t len)
{
    if (len < 2 || line[1] != '\\') {
        buf_append(out, line + (len > 1 ? 2 : 1), len > 1 ? len - 2 : 0);
        buf_append_byte(out, '\n');
        return;
    }
    for (size_t i = 3; i < len; i++) {
        char c = line[i], kind = line[i + 1]; /* the line has a NUL behind it */
        int high = -1, low = -1;
        if (c == '\\' && kind == 'x' && i + 3 < len) {
            high = hex_digit(line[i + 2]);
            low = hex_digit(line[i + 3]);
        }
        if (high >= 0 && low >= 0) {
            buf_append_byte(out, (char)(high * 16 + low));
            i += 3;
        } else if (c == '\\') {
            buf_append_text(out, kind == 'n' ? "\n" : kind == 't' ? "\t" : "\\");
            i++;
        } else {
            buf_append_byte(out, c);
        }
    }
}

static void end_file(struct test_case *t)
{
    if (t->has_file && !put(t->file, t->bytes.data, t->bytes.len))
        tap_check(false, "%s: %s cannot be written", t->name, t->file);
    t->has_file = false;
    buf_clear(&t->bytes);
}

static void start_case(struct test_case *t, const char *table, unsigned line)
{
    if (t->started)
        return;
    empty_top();
    call_init(&t->call);
    snprintf(t->name, sizeof(t->name), "%s:%u", table, line);
    t->started = true;
}

/* The value is part of the table's line, which has a NUL behind it. */
static bool add_option(struct call *c, const char *line)
{
    static const char *const lists[] = {"allow=", "limit=", "read-path=", "write-path="};
    const char *const **fields[] = {&c->request.allow, &c->request.limits, &c->request.read_paths,
                                    &c->request.write_paths};
    for (size_t i = 0; i < 4; i++) {
        size_t len = strlen(lists[i]);
        if (strncmp(line, lists[i], len) == 0 && c->counts[i] < VALUES_MAX) {
            c->lists[i][c->counts[i]++] = line + len;
            *fields[i] = c->lists[i];
            return true;
        }
    }
    if (strncmp(line, "agent=", 6) == 0)
        c->request.agent = line + 6;
    else if (strncmp(line, "profile=", 8) == 0)
        c->request.profile = line + 8;
    else if (strncmp(line, "network=", 8) == 0)
        c->request.network = line + 8;
    else if (strncmp(line, "config=", 7) == 0) {
        place(line + 7, c->config);
        c->request.config = c->config;
    } else
        return false;
    return true;
}

static void value_of(const struct policy *policy, const char *path, struct buf *out)
{
    int number = policy_key_find(path);
    struct json j;
    json_init_buf(&j, out);
    if (number >= 0)
        policy_key_write(policy, &policy_keys[number], &j);
    else if (strcmp(path, "mandate") == 0)
        json_bool(&j, policy->mandate);
    else if (strcmp(path, "refused") == 0)
        json_bool(&j, policy->refused);
    else if (strcmp(path, "profile") == 0)
        json_text(&j, policy->profile);
    else if (strcmp(path, "warnings") == 0)
        json_unsigned(&j, policy->warnings.count);
    else
        buf_append_text(out, "no such key");
}

/* Runs the case for the line ! or =; appends the line as it should be. */
static void check_line(struct test_case *t, const char *line, struct buf *out)
{
    struct arena arena;
    struct err e;
    struct buf said;
    end_file(t);
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    buf_init(&said, &allocator_libc, FILE_MAX);
    const struct policy *policy = load(&arena, &t->call, &e);
    if (!policy) {
        buf_append_format(&said, "! %s", e.message);
    } else {
        char path[64];
        const char *name = line[0] == '=' && line[1] ? line + 2 : "shell.unknown";
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(name, " "), name);
        buf_append_format(&said, "= %s ", path);
        value_of(policy, path, &said);
    }
    char name[256];
    snprintf(name, sizeof(name), "%s: %.100s", t->name, line);
    tap_text(said.data, line, name);
    buf_append(out, said.data, said.len);
    buf_append_byte(out, '\n');
    buf_release(&said);
    arena_release(&arena);
}

static void run_table(const char *directory, const char *table)
{
    char path[PATH_MAX + 300];
    snprintf(path, sizeof(path), "%s/%s", directory, table);
    FILE *f = fopen(path, "re");
    char *text = malloc(FILE_MAX);
    size_t len = f && text ? fread(text, 1, FILE_MAX - 1, f) : 0;
    if (f)
        fclose(f);
    if (!text || !len) {
        tap_check(false, "%s cannot be read", path);
        free(text);
        return;
    }
    text[len] = '\0';

    struct test_case *t = calloc(1, sizeof(*t));
    struct buf out;
    unsigned number = 0;
    buf_init(&out, &allocator_libc, FILE_MAX);
    buf_init(&t->bytes, &allocator_libc, FILE_MAX);
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        number++;
        if (strchr("@>$!=", line[0]) && line[0])
            start_case(t, table, number);
        if (line[0] == '!' || line[0] == '=') {
            check_line(t, line, &out);
            continue;
        }
        buf_append_format(&out, "%s\n", line);
        if (line[0] == '@') {
            end_file(t);
            t->has_file = true;
            snprintf(t->file, sizeof(t->file), "%s", line + 2);
        } else if (line[0] == '>') {
            add_line(&t->bytes, line, strlen(line));
        } else if (line[0] == '$') {
            if (!add_option(&t->call, line + 2))
                tap_check(false, "%s:%u: no such option", table, number);
        } else if (line[0] == '\0' || line[0] == '#') {
            t->started = t->has_file = false;
        } else {
            tap_check(false, "%s:%u: no such line", table, number);
        }
    }
    if (getenv("UPDATE") && (f = fopen(path, "we"))) {
        fwrite(out.data, 1, out.len, f);
        fclose(f);
    }
    buf_release(&t->bytes);
    buf_release(&out);
    free(t);
    free(text);
}

static void run_tables(const char *directory)
{
    DIR *d = opendir(directory);
    tap_check(d != NULL, "%s", directory);
    size_t count = 0;
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        size_t len = strlen(entry->d_name);
        if (len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0) {
            run_table(directory, entry->d_name);
            count++;
        }
    }
    if (d)
        closedir(d);
    tap_check(count > 0, "%zu tables", count);
}

/* --- what tables cannot say ----------------------------------------------------------------- */

static void expect_refusal(const char *name, const char *message)
{
    struct arena arena;
    struct call c;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    call_init(&c);
    load(&arena, &c, &e);
    tap_text(e.message, message, name);
    arena_release(&arena);
}

static void test_files(void)
{
    char path[PATH_MAX], target[PATH_MAX];
    empty_top();
    char *big = malloc(10 << 20);
    if (!big)
        return;
    memset(big, '#', 10 << 20);
    put("user/config.yaml", big, 10 << 20);
    expect_refusal("10 MB", "user/config.yaml:1:1: longer than 1048576 bytes");
    free(big);

    empty_top();
    put("user/config.yaml",
        "\x7f"
        "ELF\x02\x01\x01\0\0\0\0\xff",
        12);
    expect_refusal("a binary file",
                   "user/config.yaml:1:1: a character that cannot be seen (U+007F)");

    empty_top();
    place("user/config.yaml", path);
    mkdir(path, 0755);
    expect_refusal("a directory", "user/config.yaml: not a regular file");

    empty_top();
    mkfifo(path, 0644);
    expect_refusal("a pipe", "user/config.yaml: not a regular file");

    empty_top();
    put("user/config.yaml", "", 0);
    chmod(path, 0666);
    expect_refusal("a file that all can write",
                   "user/config.yaml: others can write to it (chmod go-w takes that away)");

    empty_top();
    put("user/config.yaml", "", 0);
    place("user", target);
    chmod(target, 0777);
    expect_refusal("a directory that all can write",
                   "user: others can write to it (chmod go-w takes that away)");
    chmod(target, 0755);

    empty_top();
    put("user/other.yaml", "shell: {plain: maybe}\n", 22);
    if (symlink("other.yaml", path) == 0)
        expect_refusal("a user's link is followed",
                       "user/config.yaml:1:16: shell.plain: must be true or false, not 'maybe'");
    empty_top();
    if (symlink("nothing.yaml", path) == 0)
        expect_refusal("a link that leads nowhere is not nothing",
                       "user/config.yaml: is a symbolic link that leads nowhere: No such file or "
                       "directory");

    empty_top();
    put("user/other.yaml", "", 0);
    put("project/x", "", 0);
    place("project/config.yaml", path);
    if (symlink("../../user/other.yaml", path) == 0)
        expect_refusal("a project's link",
                       "project/config.yaml: is a symbolic link, which is not followed in a "
                       "project");
    empty_top();
    snprintf(path, sizeof(path), "%s/ws/.nacre", top);
    if (symlink("../user", path) == 0)
        expect_refusal("a project's directory that is a link",
                       "project: is a symbolic link, which is not followed in a project");

    if (geteuid() == 0) {
        empty_top();
        put("user/config.yaml", "", 0);
        place("user/config.yaml", path);
        if (chown(path, 12345, 12345) == 0)
            expect_refusal("a file of another user",
                           "user/config.yaml: belongs to another user, who could change it");
    }
}

static void load_hash(const char *agent, const char *const *allow, char ret[65])
{
    struct arena arena;
    struct call c;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    call_init(&c);
    c.request.agent = agent;
    c.request.allow = allow;
    const struct policy *policy = load(&arena, &c, &e);
    snprintf(ret, 65, "%.64s", policy ? policy->hash : e.message);
    arena_release(&arena);
}

static void test_hash(void)
{
    char plain[65], other[65];
    empty_top();
    load_hash(NULL, NULL, plain);
    tap_number((long long)strspn(plain, "0123456789abcdef"), 64, "the hash is one");
    put_text("user/config.yaml", "# a comment\nshell:\n    unknown:     confirm\n");
    load_hash(NULL, NULL, other);
    tap_text(other, plain, "the same rules in other words have the same hash");
    put_text("user/config.yaml", "shell: {unknown: deny}\n");
    load_hash(NULL, NULL, other);
    tap_check(strcmp(other, plain) != 0, "another rule has another hash");
    put_text("user/config.yaml", "env: {set: {B: 1, A: 2}}\ngates: {z: {}, a: {y: 1, b: 2}}\n");
    load_hash(NULL, NULL, plain);
    put_text("user/config.yaml", "gates: {a: {b: 2, y: 1}, z: {}}\nenv: {set: {A: 2, B: 1}}\n");
    load_hash(NULL, NULL, other);
    tap_text(other, plain, "maps have no order");
    empty_top();
    load_hash("writer", NULL, plain);
    load_hash("coder", NULL, other);
    tap_check(strcmp(other, plain) != 0, "another agent has another hash");
    load_hash("writer", (const char *const[]){"ls", NULL}, other);
    tap_check(strcmp(other, plain) != 0, "a mandate for the call counts");
}

static void test_call(void)
{
    static const char *const allow[] = {"git status", "make", NULL};
    struct arena arena;
    struct call c;
    struct err e;
    empty_top();
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    call_init(&c);
    const struct policy *without = load(&arena, &c, &e);
    c.request.allow = allow;
    const struct policy *with = load(&arena, &c, &e);
    tap_check(with && without && with->call_mandate && with->call_allow.count == 2,
              "--allow is a list of its own");
    tap_check(with && without && with->allow.count == without->allow.count &&
                  with->unknown == without->unknown,
              "and adds nothing to the policy's");
    arena_release(&arena);
}

/* What DESIGN promises of the profiles and the lists. */
static void test_builtin(void)
{
    static const char *const blocked[] = {
        "format",    "fdisk",      "diskpart",   "shutdown", "restart", "reg delete",
        "regedit",   "net user",   "curl",       "wget",     "iwr",     "net localgroup",
        "ftp",       "sftp",       "scp",        "nc",       "netcat",  "Invoke-WebRequest",
        "ncat",      "runas",      "sudo",       "secedit",  "gpedit",  "icacls",
        "cipher /w", "compact /c", "manage-bde", "su",       "reboot",  "poweroff",
        "halt",      "init",       "systemctl",  "mkfs",     "dd",      "parted",
        "mount",     "umount",     "chmod",      "chown",    "chgrp",   "iptables",
        "ip6tables", "nft",        "ifconfig",   "ip",       "dnf",     "yum",
        "apt",       "apt-get",    "pacman",     "zypper",   "snap",    "flatpak",
        "kill",      "killall",    "pkill",
    };
    static const char *const profiles[] = {"safe", "dev", "full-auto"};
    struct arena arena;
    struct err e;
    empty_top();
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    for (size_t i = 0; i < 3; i++) {
        struct call c;
        call_init(&c);
        c.request.profile = profiles[i];
        const struct policy *policy = load(&arena, &c, &e);
        size_t found = 0, wanted = sizeof(blocked) / sizeof(blocked[0]);
        for (size_t k = 0; policy && k < policy->deny.count; k++) {
            for (size_t n = 0; n < wanted; n++)
                found += strcmp(policy->deny.items[k].text, blocked[n]) == 0;
        }
        tap_number((long long)found, (long long)wanted, profiles[i]);
        for (size_t k = 0; policy && i == 1 && k < policy->allow.count; k++) {
            const char *word = policy->allow.items[k].words[0];
            static const char *const not [] = {"tee", "touch", "cp",   "mv",     "rm",   "ln",
                                               "dd",  "alias", "eval", "source", "exec", "."};
            for (size_t n = 0; n < sizeof(not ) / sizeof(not [0]); n++) {
                if (strcmp(word, not [n]) == 0)
                    tap_check(false, "%s is not for everybody", word);
            }
        }
    }
    struct call c;
    call_init(&c);
    c.request.agent = "coder";
    const struct policy *coder = load(&arena, &c, &e);
    c.request.agent = "debugger";
    const struct policy *debugger = load(&arena, &c, &e);
    struct policy_text entry;
    tap_check(coder && debugger &&
                  !policy_key_widens(&policy_keys[policy_key_find("shell.allow")], debugger, coder,
                                     &entry),
              "debugger has all that coder has");
    for (int i = 1; policy_keys[i].path; i++) {
        if (strcmp(policy_keys[i - 1].path, policy_keys[i].path) >= 0)
            tap_check(false, "%s is not in its place", policy_keys[i].path);
    }
    arena_release(&arena);
}

static void *fail_nth(void *user, void *old, size_t size)
{
    long *left = user;
    if (size && --*left < 0)
        return NULL;
    return alloc_resize(&allocator_libc, old, size);
}

static void test_memory(void)
{
    struct call c;
    empty_top();
    put_text("user/config.yaml", "extends: coder\nenv: {set: {A: b}}\nshell: {unblock: [curl]}\n");
    put_text("project/agents/mine.yaml", "extends: coder\nshell: {allow: [make]}\n");
    call_init(&c);
    c.request.agent = "mine";
    bool done = false;
    long n = 0;
    for (; !done && n < 2000; n++) {
        long left = n;
        struct allocator failing = {.resize = fail_nth, .user = &left};
        struct arena arena;
        struct err e;
        arena_init(&arena, &failing, ARENA_MAX);
        const struct policy *policy = load(&arena, &c, &e);
        done = policy != NULL;
        if (!done && e.code == 0)
            break;
        arena_release(&arena);
    }
    tap_check(done && n > 3, "every allocation may fail (%ld of them)", n);
}

int main(int argc, char **argv)
{
    char self[PATH_MAX], directory[PATH_MAX + 32];
    if (!mkdtemp(top)) {
        perror(top);
        return 1;
    }
    chmod(top, 0755);
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    snprintf(directory, sizeof(directory), "%s/../../../tests/cases/config", dirname(self));
    run_tables(argc > 1 ? argv[1] : directory);
    test_files();
    test_hash();
    test_call();
    test_builtin();
    test_memory();
    empty_top();
    nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    rmdir(top);
    return tap_done();
}
