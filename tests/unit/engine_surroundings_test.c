/* The caller's surroundings: toolchains, and sockets of the host. */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/path.h"
#include "engine/surroundings.h"
#include "engine_place.h"

/* --- toolchains ------------------------------------------------------------------------------- */

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const writable[] = {workspace, NULL};

/* With some variables, in which ~ stands for home. */
static struct toolchains find(const char *const *variables)
{
    static char texts[12][4096];
    static const char *environment[13];
    size_t count = 0;
    for (; count < 11 && variables[count]; count++) {
        size_t used = 0;
        for (const char *p = variables[count]; *p && used + PATH_MAX / 4 < sizeof(texts[0]); p++) {
            if (*p == '~')
                used += (size_t)snprintf(texts[count] + used, sizeof(texts[0]) - used, "%s", home);
            else
                texts[count][used++] = *p;
        }
        texts[count][used] = '\0';
        environment[count] = texts[count];
    }
    snprintf(texts[count], sizeof(texts[0]), "HOME=%s", home);
    environment[count] = texts[count];
    environment[count + 1] = NULL;
    struct toolchains t = {0};
    struct err e = {0};
    if (toolchains_find(&arena, true, home, workspace, writable, environment, &t, &e) < 0)
        printf("# %s\n", e.message);
    return t;
}

#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

static bool is_shown(const struct toolchains *t, const char *path)
{
    for (size_t i = 0; i < t->shown_count; i++) {
        if (path_is_below(path, t->shown[i]))
            return true;
    }
    return false;
}

static bool has_variable(const struct toolchains *t, const char *text)
{
    for (size_t i = 0; i < t->variable_count; i++) {
        if (strcmp(t->variables[i], text) == 0)
            return true;
    }
    return false;
}

static const char *link_target(const struct toolchains *t, const char *path)
{
    for (size_t i = 0; i < t->link_count; i++) {
        if (strcmp(t->links[i].path, path) == 0)
            return t->links[i].target;
    }
    return NULL;
}

static void check_path(const struct toolchains *t, const char *should, const char *name)
{
    char text[4096] = "";
    size_t used = 0;
    for (const char *p = should; *p && used + PATH_MAX / 4 < sizeof(text); p++) {
        if (*p == '~')
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", home);
        else
            text[used++] = *p;
    }
    text[used] = '\0';
    tap_text(t->path, text, name);
}

static void check_invariants(const struct toolchains *t, const char *name)
{
    bool good = true;
    for (size_t i = 0; i < t->shown_count; i++) {
        char real[PATH_MAX];
        good = good && realpath(t->shown[i], real) && strcmp(real, t->shown[i]) == 0;
        good = good && !path_is_below(home, t->shown[i]) && !path_is_below(t->shown[i], workspace);
        for (size_t k = 0; k < t->shown_count; k++)
            good = good && (i == k || !path_is_below(t->shown[i], t->shown[k]));
    }
    for (size_t i = 0; i < t->link_count; i++)
        good = good && path_is_below(t->links[i].path, home) && !is_shown(t, t->links[i].path);
    tap_check(good, "%s: canonical, none below another", name);
}

static void test_path(void)
{
    struct toolchains t = {0};
    tap_number(toolchains_find(&arena, true, home, workspace, writable, NULL, &t, NULL), 0,
               "no environment");
    tap_text(t.path, SYSTEM_PATH, "no environment: the system's PATH");
    t = FIND("A=b");
    tap_text(t.path, SYSTEM_PATH, "no PATH: the system's");
    t = FIND("PATH=");
    tap_text(t.path, SYSTEM_PATH, "an empty PATH: the system's");
    t = FIND("PATH=/usr/bin:/bin:/usr/bin/:/usr//bin");
    tap_text(t.path, "/usr/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin",
             "order is kept, duplicates go, what is missing comes behind");
    t = FIND(
        "PATH=:.:bin:/usr/no such directory:/etc:/proc:/tmp:/var/tmp:/dev/shm:/run:/:/usr/bin\n");
    tap_text(t.path, SYSTEM_PATH, "relative, absent and foreign entries go");
    make_dir(at("home/project/bin"));
    make_dir(at("home/bin"));
    make_link(at("home/linked"), at("home/project/bin"));
    t = FIND("PATH=~/project/bin:~/linked:~/project/../project/bin:~/project");
    tap_text(t.path, SYSTEM_PATH, "nothing of the workspace");
    tap_number((long long)t.shown_count, 0, "and nothing of it is shown");
    t = FIND("PATH=~/bin:/usr/bin:~/bin/../bin");
    check_path(&t, "~/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
               "a directory in home that no row knows");
    tap_check(t.shown_count == 1 && is_shown(&t, at("home/bin")), "is shown, alone");

    const char *environment[] = {"PATH=/usr/bin:~/bin", NULL};
    char text[PATH_MAX + 64];
    snprintf(text, sizeof(text), "PATH=/usr/bin:%s/bin", home);
    environment[0] = text;
    toolchains_find(&arena, false, home, workspace, writable, environment, &t, NULL);
    tap_text(t.path, "/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
             "not enabled: system directories alone");
    tap_check(t.shown_count == 0 && t.variable_count == 0, "and nothing is shown");
    toolchains_find(&arena, true, NULL, workspace, writable, environment, &t, NULL);
    tap_check(t.shown_count == 0 && !strstr(t.path, "/bin:/bin"),
              "without a home nothing is shown");
    tap_check(!strstr(t.path, home), "nor in PATH");
    toolchains_find(&arena, true, "/", workspace, writable, environment, &t, NULL);
    tap_check(t.shown_count == 0, "a home that is the root: nothing");

    /* As many entries as there may be, and one more. */
    static char many[64 * 32];
    size_t used = (size_t)snprintf(many, sizeof(many), "PATH=");
    for (int i = 0; i < 70; i++) {
        make_dir(at("home/many/%d", i));
        used += (size_t)snprintf(many + used, sizeof(many) - used, "~/many/%d:", i);
    }
    t = FIND(many);
    tap_check(t.shown_count == TOOLCHAINS_SHOWN_MAX && is_shown(&t, at("home/many/63")) &&
                  !is_shown(&t, at("home/many/64")),
              "at most 64 entries and places");
}

static void test_rows(void)
{
    make_dir(at("home/.pyenv/shims"));
    make_dir(at("home/.pyenv/bin"));
    make_dir(at("home/.pyenv/versions/3.12.1/bin"));
    make_dir(at("home/.cargo/bin"));
    make_dir(at("home/.cargo/registry"));
    make_file(at("home/.cargo/env"), "");
    make_file(at("home/.cargo/credentials.toml"), "secret");
    make_file(at("home/.cargo/config.toml"), "secret");
    make_dir(at("home/.rustup/toolchains"));
    struct toolchains t =
        FIND("PATH=~/.cargo/bin:~/.pyenv/shims:/usr/bin:~/.pyenv/bin", "PYENV_ROOT=~/.pyenv",
             "CARGO_HOME=~/.cargo", "RUSTUP_HOME=~/.rustup", "SECRET=~/.pyenv");
    check_path(&t,
               "~/.cargo/bin:~/.pyenv/shims:/usr/bin:~/.pyenv/bin:/usr/local/sbin:/usr/local/bin:"
               "/usr/sbin:/sbin:/bin",
               "entries of toolchains keep their places");
    tap_check(is_shown(&t, at("home/.pyenv")) && is_shown(&t, at("home/.rustup")),
              "pyenv, and rustup, which cargo needs");
    tap_check(is_shown(&t, at("home/.cargo/bin")) && is_shown(&t, at("home/.cargo/registry")) &&
                  is_shown(&t, at("home/.cargo/env")),
              "of cargo what is needed");
    tap_check(!is_shown(&t, at("home/.cargo/credentials.toml")) &&
                  !is_shown(&t, at("home/.cargo/config.toml")),
              "and no credentials");
    char text[PATH_MAX + 32];
    snprintf(text, sizeof(text), "PYENV_ROOT=%s/.pyenv", home);
    tap_check(t.variable_count == 1 && has_variable(&t, text),
              "the variable of pyenv passes, cargo knows its place");
    check_invariants(&t, "rows");

    t = FIND("PATH=~/.cargo:~/.cargo/registry/..");
    tap_check(!is_shown(&t, at("home/.cargo/credentials.toml")) && !strstr(t.path, ".cargo"),
              "the top of a toolchain in PATH shows no more of it");

    make_dir(at("data/cargo/bin"));
    make_file(at("data/cargo/credentials"), "secret");
    snprintf(text, sizeof(text), "CARGO_HOME=%s/data/cargo", top);
    t = FIND("PATH=/usr/bin", text);
    tap_check(has_variable(&t, text) && is_shown(&t, at("data/cargo/bin")) &&
                  !is_shown(&t, at("data/cargo/credentials")),
              "CARGO_HOME elsewhere: its parts, and the variable");

    make_dir(at("home/.local/bin"));
    make_dir(at("home/.local/share/uv/tools"));
    make_file(at("home/.local/share/uv/credentials/x"), "secret");
    make_dir(at("home/.local/share/pipx/venvs"));
    make_file(at("home/.local/share/keyrings/login.keyring"), "secret");
    make_file(at("home/.local/share/other/x"), "");
    t = FIND("PATH=~/.local/share/../bin");
    check_path(&t, "~/.local/bin:" SYSTEM_PATH, "an entry with dots");
    tap_check(is_shown(&t, at("home/.local/share/uv/tools")) &&
                  is_shown(&t, at("home/.local/share/pipx/venvs")),
              "~/.local/bin brings what its links lead to");
    tap_check(!is_shown(&t, at("home/.local/share/uv/credentials")) &&
                  !is_shown(&t, at("home/.local/share/other")) &&
                  !is_shown(&t, at("home/.local/share/keyrings")),
              "and nothing else of ~/.local");

    make_dir(at("home/.sdkman/candidates/java/17/bin"));
    make_file(at("home/.sdkman/candidates/java/17/bin/java"), "");
    make_link(at("home/.sdkman/candidates/java/current"), "17");
    make_file(at("home/.sdkman/etc/config"), "");
    t = FIND("PATH=~/.sdkman/candidates/java/current/bin",
             "JAVA_HOME=~/.sdkman/candidates/java/current");
    check_path(&t, "~/.sdkman/candidates/java/current/bin:" SYSTEM_PATH,
               "a link in a toolchain keeps its name");
    tap_check(t.shown_count == 1 && t.variable_count == 1, "sdkman: candidates alone; JAVA_HOME");

    make_dir(at("home/.nvm/versions/node/v20/bin"));
    make_file(at("home/.nvm/.npmrc"), "secret");
    t = FIND("PATH=~/.nvm/versions/node/v20/bin", "NVM_DIR=~/.nvm",
             "NVM_BIN=~/.nvm/versions/node/v20/bin");
    tap_check(!is_shown(&t, at("home/.nvm/.npmrc")) && t.variable_count == 2, "nvm: no .npmrc");

    make_file(at("home/sdk/go1.22/bin/go"), "");
    make_dir(at("home/sdk/other"));
    make_dir(at("home/.opam/default/bin"));
    make_file(at("home/.opam/config"), "");
    t = FIND("PATH=~/sdk/go1.22/bin:~/.opam/default/bin", "GOROOT=~/sdk/go1.22");
    tap_check(t.shown_count == 2 && is_shown(&t, at("home/sdk/go1.22")) &&
                  is_shown(&t, at("home/.opam/default")),
              "places with a version in their names");

    make_dir(at("home/.asdf/shims"));
    make_dir(at("home/.asdf/installs"));
    make_file(at("home/.tool-versions"), "nodejs 20\n");
    t = FIND("PATH=~/.asdf/shims", "ASDF_DATA_DIR=~/.asdf", "ASDF_DIR=~/.asdf");
    tap_check(t.shown_count == 2 && is_shown(&t, at("home/.tool-versions")) &&
                  t.variable_count == 2,
              "asdf, and the file that says which versions");

    make_dir(at("home/.config/nvm/versions/node/v20/bin"));
    make_file(at("home/.config/secret/x"), "secret");
    t = FIND("PATH=~/.config/nvm/versions/node/v20/bin", "NVM_DIR=~/.config/nvm");
    tap_check(t.shown_count == 1 && strstr(t.path, ".config/nvm"), "nvm's other place");

    t = FIND("PATH=/usr/bin", "JAVA_HOME=/usr", "GOROOT=/etc", "VOLTA_HOME=relative",
             "NVM_DIR=/tmp", "FNM_DIR=~/.pyenv/../.ssh", "PYENV_ROOT=~", "RBENV_ROOT=~/.ssh");
    tap_check(t.shown_count == 0 && t.variable_count == 1 && has_variable(&t, "JAVA_HOME=/usr"),
              "variables that lead elsewhere are not passed");
}

static void test_links(void)
{
    char text[PATH_MAX + 32];
    make_dir(at("data/rbenv/shims"));
    make_dir(at("data/rbenv/versions"));
    make_link(at("home/.rbenv"), at("data/rbenv"));
    struct toolchains t = FIND("PATH=~/.rbenv/shims", "RBENV_ROOT=~/.rbenv");
    check_path(&t, "~/.rbenv/shims:" SYSTEM_PATH, "a toolchain by a link");
    tap_text(link_target(&t, at("home/.rbenv")), at("data/rbenv"), "the link is made again");
    tap_check(t.shown_count == 1 && is_shown(&t, at("data/rbenv")) && t.variable_count == 1,
              "and its target shown");
    check_invariants(&t, "links");
    snprintf(text, sizeof(text), "PATH=%s/data/rbenv/shims", top);
    t = FIND(text, "RBENV_ROOT=~/.rbenv");
    tap_check(!strstr(t.path, "rbenv"), "below /tmp nothing stands in PATH by that name");

    /* One part that was moved to a bigger disk. */
    make_dir(at("data/registry"));
    make_dir(at("home/.cargo/bin"));
    rmdir(at("home/.cargo/registry"));
    make_link(at("home/.cargo/registry"), at("data/registry"));
    t = FIND("PATH=~/.cargo/bin");
    tap_text(link_target(&t, at("home/.cargo/registry")), at("data/registry"),
             "a part that is a link");
    tap_check(is_shown(&t, at("data/registry")), "and its target shown");
    check_invariants(&t, "a part that is a link");

    /* Names that would not survive in PATH. */
    make_dir(at("home/a:/b"));
    make_dir(at("home/new\nline"));
    make_link(at("home/colon"), at("home/a:/b"));
    make_link(at("home/newline"), at("home/new\nline"));
    t = FIND("PATH=~/colon:~/newline:~/./newline:~/./new\nline");
    tap_check(t.shown_count == 0 && strcmp(t.path, SYSTEM_PATH) == 0,
              "a link to a name that PATH cannot hold");

    /* Home by a link. */
    make_link(at("people"), home);
    char environment_path[2 * PATH_MAX], environment_home[PATH_MAX + 8];
    snprintf(environment_path, sizeof(environment_path), "PATH=%s/people/.pyenv/shims", top);
    snprintf(environment_home, sizeof(environment_home), "HOME=%s/people", top);
    const char *const environment[] = {environment_path, environment_home, NULL};
    toolchains_find(&arena, true, home, workspace, writable, environment, &t, NULL);
    check_path(&t, "~/.pyenv/shims:" SYSTEM_PATH, "HOME by a link: PATH has what it leads to");

    /* A link from a place that comes and goes with each shell. */
    make_dir(at("home/.fnm/node-versions/v20/installation/bin"));
    make_link(at("home/.local/state/multishell"), at("home/.fnm/node-versions/v20/installation"));
    t = FIND("PATH=~/.local/state/multishell/bin");
    check_path(&t, "~/.fnm/node-versions/v20/installation/bin:" SYSTEM_PATH,
               "a link elsewhere to a known place: the place");

    unlink(at("home/.rbenv"));
    make_link(at("home/.rbenv"), "/etc");
    t = FIND("PATH=~/.rbenv/alternatives", "RBENV_ROOT=~/.rbenv");
    tap_check(t.shown_count == 0 && t.link_count == 0, "a toolchain that is a link to /etc: no");
    unlink(at("home/.rbenv"));
    make_link(at("home/.rbenv"), at("home"));
    make_dir(at("home/shims"));
    t = FIND("PATH=~/.rbenv/shims", "RBENV_ROOT=~/.rbenv");
    tap_check(t.shown_count == 0 && t.link_count == 0, "nor to home");
    unlink(at("home/.rbenv"));
    make_link(at("home/.rbenv"), at("home/.rbenv"));
    t = FIND("PATH=~/.rbenv/shims", "RBENV_ROOT=~/.rbenv");
    tap_check(t.shown_count == 0, "nor to itself");
    unlink(at("home/.rbenv"));
}

/* What a run could have left where it may write. */
static void test_planted(void)
{
    char real[PATH_MAX];
    struct stat st;
    const char *const roots[] = {workspace, at("home/cache"), NULL};
    make_file(at("home/private/secret"), "");
    make_file(at("home/cache/dir/file"), "");
    make_link(at("home/cache/link"), "../private");
    make_link(at("home/project/link"), "../private");
    make_link(at("home/mine"), "private");
    make_link(at("home/to-cache"), "cache/link");
    make_link(at("home/loop"), "loop");
    const struct {
        const char *path;
        int result;
        const char *real;
    } rows[] = {
        {"home/cache/link/secret", -EPERM, NULL},
        {"home/cache/link", -EPERM, NULL},
        {"home/cache/dir/../link", -EPERM, NULL},
        {"home/project/link", -EPERM, NULL},
        {"home/to-cache", -EPERM, NULL},
        {"home/mine/secret", 0, "home/private/secret"},
        {"home/cache/dir/file", 0, "home/cache/dir/file"},
        {"home/cache/absent", -ENOENT, NULL},
        {"home/cache/dir/file/x", -ENOTDIR, NULL},
        {"home/loop", -ELOOP, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int r = surroundings_resolve(at("%s", rows[i].path), 0, roots, real, &st);
        tap_number(r, rows[i].result, "planted: resolve");
        if (r == 0)
            tap_text(real, at("%s", rows[i].real), "planted: where it leads");
    }
    tap_check(surroundings_stat(at("home/private/secret"), &st), "planted: what is there");
    tap_check(!surroundings_stat(at("home/mine"), &st), "planted: not a link");
    tap_check(!surroundings_stat(at("home/mine/secret"), &st), "planted: nor by one");

    /* A toolchain in what is writable. */
    struct toolchains t = {0};
    char path[PATH_MAX];
    make_dir(at("home/cache/bin"));
    make_link(at("home/cache/evil"), "../private");
    snprintf(path, sizeof(path), "PATH=%s/cache/bin:%s/cache/evil", home, home);
    const char *const environment[] = {path, NULL};
    toolchains_find(&arena, true, home, workspace, roots, environment, &t, NULL);
    tap_check(is_shown(&t, at("home/cache/bin")), "planted: a directory is shown");
    tap_check(!is_shown(&t, at("home/private")), "planted: where a link leads is not");
    tap_check(!strstr(t.path, "evil") && !strstr(t.path, "private"), "planted: nor in PATH");
}

static void test_forbidden(void)
{
    static const char *const never[] = {
        "home",           "home/.ssh",
        "home/.ssh/bin",  "home/.gnupg",
        "home/.aws/bin",  "home/.config",
        "home/.config/x", "home/.docker/bin",
        "home/.kube",     "home/Documents",
        "home/.local",    "home/.local/share",
        "home/.cache",    "home/.password-store/bin",
    };
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        make_dir(at("%s", never[i]));
        char text[PATH_MAX + 8];
        snprintf(text, sizeof(text), "PATH=%s/%s", top, never[i]);
        struct toolchains t = FIND(text);
        tap_check(t.shown_count == 0 && strcmp(t.path, SYSTEM_PATH) == 0, "never: %s", never[i]);
    }
    make_link(at("home/keys"), at("home/.ssh"));
    struct toolchains t = FIND("PATH=~/keys:~/keys/bin");
    tap_number((long long)t.shown_count, 0, "nor by a link");

    /* The workspace and what holds it. */
    make_dir(at("home/src/deep/project/bin"));
    char kept[sizeof(workspace)];
    memcpy(kept, workspace, sizeof(kept));
    snprintf(workspace, sizeof(workspace), "%s/src/deep/project", home);
    t = FIND("PATH=~/src:~/src/deep:~/src/deep/project:~/src/deep/project/bin");
    tap_number((long long)t.shown_count, 0, "nothing that holds the workspace or lies in it");

    /* The inside may write to the workspace, also links that others lead to. */
    make_dir(at("home/private"));
    make_file(at("home/private/letter"), "");
    make_link(at("home/src/deep/project/tools"), at("home/private"));
    make_link(at("home/tools"), at("home/src/deep/project/tools"));
    make_link(at("home/src/deep/project/versions"), at("home/private/letter"));
    unlink(at("home/.tool-versions"));
    make_link(at("home/.tool-versions"), at("home/src/deep/project/versions"));
    make_dir(at("home/.asdf/shims"));
    t = FIND("PATH=~/tools:~/tools/../tools:~/.asdf/shims", "PYENV_ROOT=~/tools");
    tap_check(!is_shown(&t, at("home/private")) && !is_shown(&t, at("home/private/letter")) &&
                  is_shown(&t, at("home/.asdf")),
              "no link that lies in the workspace is followed");
    check_invariants(&t, "links of the workspace");
    memcpy(workspace, kept, sizeof(kept));
    unlink(at("home/.tool-versions"));

    make_dir(at("home/open/bin"));
    chmod(at("home/open/bin"), 0777);
    t = FIND("PATH=~/open/bin");
    tap_number((long long)t.shown_count, 0, "nothing that all can write to");
    chmod(at("home/open/bin"), 0775);
    t = FIND("PATH=~/open/bin");
    tap_check(t.shown_count == (getgid() == getuid() || getgid() == 0),
              "a group of one's own may write");
    if (geteuid() == 0) {
        if (chown(at("home/open/bin"), 0, 12345) < 0)
            printf("# cannot chown\n");
        t = FIND("PATH=~/open/bin");
        tap_number((long long)t.shown_count, 0, "another group may not");
        chmod(at("home/open/bin"), 0755);
        if (chown(at("home/open/bin"), 12345, 0) < 0)
            printf("# cannot chown\n");
        t = FIND("PATH=~/open/bin");
        tap_number((long long)t.shown_count, 0, "nothing of another owner");
    }
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* Binds in a child, which has the directory `cwd`, and keeps the socket here. */
static int bind_at(const char *cwd, const char *name, size_t len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, len);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '\0'));
    pid_t pid = fork();
    if (pid == 0)
        _exit(chdir(cwd) < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
              listen(fd, 1) < 0);
    int status = 1;
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("# cannot bind %s\n", name);
    return fd;
}

static int bind_name(const char *cwd, const char *name)
{
    return bind_at(cwd, name, strlen(name));
}

static bool by_text; /* by which of the kernel's lists */

static bool socket_found(const char *path, size_t *ret_count)
{
    const char *const roots[] = {at("sock/one"), at("sock/two")};
    const char *const *list = NULL;
    size_t count = 0;
    bool found = false;
    struct err e = {0};
    int r = by_text ? host_sockets_find_by_text(&arena, roots, 2, &list, &count, &e)
                    : host_sockets_find(&arena, roots, 2, &list, &count, &e);
    if (r != 0)
        printf("# host_sockets_find: %d %s\n", r, e.message);
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(list[i], path) == 0;
    if (ret_count)
        *ret_count = count;
    return found;
}

static void check_socket(const char *cwd, const char *name, const char *path, bool should,
                         const char *what)
{
    int fd = bind_name(cwd, name);
    tap_check(socket_found(path, NULL) == should, "sockets%s: %s", by_text ? " (text)" : "", what);
    close(fd);
    unlink(path);
}

static void test_sockets(void)
{
    size_t count;
    make_dir(at("sock/one/deep/er"));
    make_dir(at("sock/two"));
    make_dir(at("sock/onemore"));
    unlink(at("way"));
    make_file(at("sock/one/file"), "");
    socket_found("", &count);
    tap_number((long long)count, 0, "sockets: none");
    check_socket("/", at("sock/one/deep/a b.sock"), at("sock/one/deep/a b.sock"), true,
                 "an absolute name");
    check_socket("/", at("sock/two/x"), at("sock/two/x"), true, "in the second root");
    check_socket("/", at("sock/onemore/x"), at("sock/onemore/x"), false, "beside a root");
    make_link(at("way"), at("sock/one"));
    check_socket("/", at("way/deep/../x"), at("sock/one/x"), true, "by a link and dots");
    check_socket(at("sock/one/deep"), "rel", at("sock/one/deep/rel"), true, "a relative name");
    check_socket(at("sock/one"), "deep/er/rel", at("sock/one/deep/er/rel"), true,
                 "a relative name with directories");
    check_socket(at("sock/onemore"), "rel", at("sock/onemore/rel"), false,
                 "a relative name elsewhere");
    check_socket(at("sock/one"), "@at", at("sock/one/@at"), true, "a file that begins with @");
    check_socket(at("sock/one/deep"), "new\nline", at("sock/one/deep/new\nline"), true,
                 "a name with a newline");
    check_socket("/", at("sock/one/deep/abs\nline"), at("sock/one/deep/abs\nline"), true,
                 "an absolute name with a newline");

    int fd = bind_name("/", at("sock/one/deep/moved"));
    rename(at("sock/one/deep"), at("sock/one/later"));
    rename(at("sock/one"), at("sock/was"));
    rename(at("sock/was/later/moved"), at("sock/was/moved"));
    rename(at("sock/was"), at("sock/one"));
    tap_check(socket_found(at("sock/one/moved"), NULL), "sockets: moved to the top of a root");
    close(fd);
    unlink(at("sock/one/moved"));

    fd = bind_at("/", "\0nacre-test-abstract", 20);
    int one = bind_name("/", at("sock/one/same")), two = bind_name("/", at("sock/two/same"));
    bool found = socket_found(at("sock/one/same"), &count);
    tap_check(found && count == 2, "sockets: two, and no abstract one");
    close(fd);
    close(one);
    close(two);
    socket_found("", &count);
    tap_number((long long)count, 0, "sockets: those that nobody is bound to do not count");
    remove_all(at("sock"));
}

/* --- failing memory ---------------------------------------------------------------- */

static void test_memory(void)
{
    const char *const roots[] = {top};
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "PATH=%s/.cargo/bin:%s/.pyenv/shims:%s/bin", home, home, home);
    const char *const environment[] = {path, NULL};
    int wrong = 0;
    for (size_t max = 0; max < (size_t)96 << 10; max += 509) {
        struct arena small;
        arena_init(&small, &allocator_libc, max);
        struct toolchains t;
        const char *const *list;
        size_t count;
        int r = toolchains_find(&small, true, home, workspace, writable, environment, &t, NULL);
        wrong += r != 0 && r != -ENOMEM;
        wrong += r == 0 && (!t.path || small.failed);
        arena_release(&small);
        r = host_sockets_find(&small, roots, 1, &list, &count, NULL);
        wrong += r < 0 && r != -ENOMEM;
        arena_release(&small);
        r = host_sockets_find_by_text(&small, roots, 1, &list, &count, NULL);
        wrong += r < 0 && r != -ENOMEM;
        arena_release(&small);
    }
    tap_number(wrong, 0, "memory that ends anywhere");
}

int main(void)
{
    if (!place_open())
        return 1;
    test_path();
    test_rows();
    test_links();
    test_planted();
    test_forbidden();
    test_sockets();
    by_text = true;
    test_sockets();
    test_memory();
    place_close();
    return tap_done();
}
