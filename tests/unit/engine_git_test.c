/* git around the workspace: who commits, which repository is behind it, what is guarded. */
#include <errno.h>
#include <sys/wait.h>

#include "engine/box.h"
#include "engine_place.h"

/* Runs a program; what it prints is in `out`, without the last newline. Its exit status. */
static int run_program(char *out, size_t size, const char *const *argv)
{
    int pipes[2];
    size_t len = 0;
    out[0] = '\0';
    fflush(stdout);
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(pipes[1], 1);
        dup2(nowhere, 2);
        setenv("HOME", top, 1);
        setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
        unsetenv("XDG_CONFIG_HOME");
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(pipes[1]);
    ssize_t n;
    while (len + 1 < size && (n = read(pipes[0], out + len, size - 1 - len)) > 0)
        len += (size_t)n;
    close(pipes[0]);
    out[len] = '\0';
    if (len && out[len - 1] == '\n')
        out[len - 1] = '\0';
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- git's identity --------------------------------------------------------------------------- */

static struct git_identity identity(void)
{
    struct git_identity i = {0};
    tap_check(git_identity_read(&arena, home, NULL, &i) == 0, "identity: read");
    return i;
}

static void test_identity(void)
{
    struct git_identity i = {"x", "y"};
    i = identity();
    tap_check(!i.name && !i.email, "identity: no files");
    make_file(at("home/.config/git/config"), "[user]\n\tname = First\n\temail = first@x\n");
    i = identity();
    tap_text(i.name, "First", "identity: of ~/.config/git/config");
    make_file(at("home/.gitconfig"), "[user]\n\tname = Second # comment\n");
    i = identity();
    tap_text(i.name, "Second", "identity: ~/.gitconfig wins");
    tap_text(i.email, "first@x", "identity: and leaves the rest");

    char xdg[PATH_MAX + 32];
    snprintf(xdg, sizeof(xdg), "XDG_CONFIG_HOME=%s/xdg", top);
    make_file(at("xdg/git/config"), "[user] email = xdg@x");
    const char *const environment[] = {xdg, NULL};
    git_identity_read(&arena, home, environment, &i);
    tap_text(i.email, "xdg@x", "identity: XDG_CONFIG_HOME; a variable beside its section");
    git_identity_read(&arena, NULL, environment, &i);
    tap_check(!i.name && i.email, "identity: without a home");

    make_file(at("home/.gitconfig"), "[include]\n\tpath = more/one\n[user]\n\tname = Top\n"
                                     "[include]\n\tpath = ~/two\n[includeIf \"gitdir:/\"]\n"
                                     "\tpath = ~/three\n[include]\npath=/absent\npath\npath=\n");
    make_file(at("home/more/one"), "[user]\nname = One\nemail = one@x\n[include]\npath = sub\n");
    make_file(at("home/more/sub"), "[user]\nemail = sub@x\n");
    make_file(at("home/two"), "[user]\nname = Two\n");
    make_file(at("home/three"), "[user]\nname = Three\nemail = three@x\n");
    i = identity();
    tap_text(i.name, "Two", "identity: includes in their places, no conditional ones");
    tap_text(i.email, "sub@x", "identity: an include in an include");
    make_file(at("home/.gitconfig"), "[user]\nname = Loop\n[include]\npath = .gitconfig\n"
                                     "path = .gitconfig\npath = .gitconfig\npath = .gitconfig\n"
                                     "path = .gitconfig\npath = .gitconfig\n[user]\nemail=l@x\n");
    i = identity();
    tap_text(i.email, "l@x", "identity: a file that includes itself");

    unlink(at("home/.gitconfig"));
    mkfifo(at("home/.gitconfig"), 0644);
    i = identity();
    tap_text(i.name, "First", "identity: a FIFO is as if absent");
    unlink(at("home/.gitconfig"));
    static char big[(1 << 20) + 1];
    memset(big, '#', sizeof(big));
    memcpy(big, "[user]\nname=Big\n", 16);
    make_bytes(at("home/.gitconfig"), big, sizeof(big));
    i = identity();
    tap_text(i.name, "First", "identity: so is a file of more than 1 MB");
    make_bytes(at("home/.gitconfig"), big, sizeof(big) - 1);
    i = identity();
    tap_text(i.name, "Big", "identity: but not one of just that");
    unlink(at("home/.gitconfig"));
    make_dir(at("home/.gitconfig"));
    i = identity();
    tap_text(i.name, "First", "identity: so is a directory");
    rmdir(at("home/.gitconfig"));

    make_file(at("home/.gitconfig"), "[user]\nname = A\\nB\nemail = a\x1b[1mb\n");
    i = identity();
    tap_text(i.name, "First", "identity: a newline in a name drops it");
    tap_text(i.email, "first@x", "identity: so does an escape character");
    make_bytes(at("home/.gitconfig"), "[user]\nname = A\0B\n", 18);
    i = identity();
    tap_text(i.name, "First", "identity: and a NUL");
}

/* The same texts by git itself: what it refuses only has to end. */
static void test_syntax(void)
{
    static const char *const texts[] = {
        "[user]\nname = Plain Name\n",
        "[USER]\n  NaMe=upper\n",
        "[user] name = beside\n",
        "[user]name=close",
        "[user]\nname = \"quoted # ; \"  # comment\n",
        "[user]\nname = \"two\" \"parts\"\n",
        "[user]\nname = a\"b c\"d   \n",
        "[user]\nname = esc \\\"q\\\" \\\\ back \\t tab\n",
        "[user]\nname = goes \\\n   on\n",
        "[user]\nname = \"goes \\\n   on\"\n",
        "[user]\nname = ends in a backslash\\",
        "[user]\nname = last\nname = wins\n",
        "[user \"sub\"]\nname = no\n[user]\nname = yes\n",
        "[user.sub]\nname = no\n[user]\nname = yes\n",
        "[user \"a\\\"b]\"]\nname = no\n[user]\nname = yes\n",
        "[user]\n; comment\n# comment\nname = x;y\n",
        "[user]\r\nname = crlf\r\n",
        "\xef\xbb\xbf[user]\nname = bom\n",
        "[user]\nname\nname = v\n",
        "[user]\nname =   \"  kept  \"\n",
        "[user]\nname = \xc3\xa9t\xc3\xa9\n",
        "[core]\nname = no\n[user]\nname = yes\n[other]\nname = no\n",
        "[user]\n\n\n\tname\t=\ttabs\n",
        "[user] ; c\nname = behind a comment\n",
        "name = nowhere\n[user]\nname = x\n",
        "[user]\nname = good\n[broken\nname = x\n",
        "[user]\nname = \"open\n",
        "[user]\nname = bad \\q escape\n",
        "[user]\n1name = x\n",
        "[user]\nna_me = x\n",
        "[user]\nname : x\n",
        "[user]]\nname = x\n",
        "[ user ]\nname = x\n",
        "[]\nname = x\n",
        "[user \"sub\" ]\nname = x\n",
    };
    char file[PATH_MAX], out[4096];
    snprintf(file, sizeof(file), "%s/.gitconfig", home);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        unlink(at("home/.config/git/config"));
        make_file(file, texts[i]);
        struct git_identity is = {0};
        git_identity_read(&arena, home, NULL, &is);
        const char *const argv[] = {"git", "config", "-f", file, "user.name", NULL};
        int status = run_program(out, sizeof(out), argv);
        if (status == 0)
            tap_text(is.name, out, "syntax: as git reads it");
        else
            tap_check(status == 1 || status == 128, "syntax: git refuses %zu", i);
    }
    /* Every beginning of a text that has everything. */
    static const char all[] =
        "\xef\xbb\xbf[a \"b\\\"c\"] d = \"e\\t\\\\\" # f\r\n[user]\n name = g "
        "\\\n h ; i\n[include]\npath = ~/j\n";
    for (size_t len = 0; len < sizeof(all); len++) {
        struct git_identity is = {0};
        char *copy = malloc(len ? len : 1);
        memcpy(copy, all, len);
        make_bytes(file, copy, len);
        free(copy);
        git_identity_read(&arena, home, NULL, &is);
    }
    tap_check(true, "syntax: every beginning of a text");
}

static void test_identity_write(void)
{
    static const struct git_identity some[] = {
        {"Plain Name", "a@b.example"}, {"Quote \" Back \\ Tab \t end", "x"},
        {"  blanks  ", "# ; \\n"},     {"\xc3\xa9\xe2\x82\xac", NULL},
        {NULL, "only@mail"},
    };
    const char *file = at("written"), *text = "";
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        const char *const values[] = {some[i].name, some[i].email};
        static const char *const keys[] = {"user.name", "user.email"};
        tap_check(git_identity_write(&arena, &some[i], &text) == 0 && text, "written");
        make_file(file, text ? text : "");
        for (size_t k = 0; k < 2; k++) {
            char out[4096];
            const char *const argv[] = {"git", "config", "-f", file, keys[k], NULL};
            int status = run_program(out, sizeof(out), argv);
            tap_text(status == 0 ? out : NULL, values[k], "written: git reads the same");
        }
    }
    git_identity_write(&arena, &some[0], &text);
    tap_text(text, "[user]\n\tname = \"Plain Name\"\n\temail = \"a@b.example\"\n", "written: form");
    git_identity_write(&arena, &(struct git_identity){0}, &text);
    tap_text(text, NULL, "written: nothing to say");
    git_identity_write(&arena, &(struct git_identity){.name = "a\n[core]\nx=y"}, &text);
    tap_text(text, NULL, "written: no second line by a newline");
}

/* --- linked worktrees ------------------------------------------------------------------------- */

static struct git_worktree worktree(const char *path)
{
    struct git_worktree w = {0};
    const char *const roots[] = {path, NULL};
    if (git_worktree_find(&arena, path, home, roots, &w) != 0)
        printf("# git_worktree_find failed\n");
    return w;
}

#define GIT(...)                                                                                   \
    run_program(out, sizeof(out),                                                                  \
                (const char *const[]){"git", "-c", "user.name=n", "-c", "user.email=e", "-c",      \
                                      "protocol.file.allow=always", "-c", "safe.directory=*",      \
                                      __VA_ARGS__, NULL})

static void forge(const char *repository, const char *tree)
{
    make_file(at("%s/HEAD", repository), "ref: refs/heads/main\n");
    make_dir(at("%s/objects", repository));
    make_dir(at("%s/refs", repository));
    make_file(at("%s/worktrees/w/commondir", repository), "../..\n");
    char text[PATH_MAX + 8];
    snprintf(text, sizeof(text), "%s/.git\n", tree);
    make_file(at("%s/worktrees/w/gitdir", repository), text);
}

static void test_worktree(void)
{
    char out[4096], text[2 * PATH_MAX];
    unlink(at("home/.gitconfig"));
    const char *repository = at("git/main"), *tree = at("git/tree");
    make_dir(repository);
    tap_number(GIT("init", "-q", repository), 0, "git init");
    GIT("-C", repository, "commit", "-q", "--allow-empty", "-m", "x");
    tap_number(GIT("-C", repository, "worktree", "add", "-q", tree), 0, "git worktree add");
    struct git_worktree w = worktree(tree);
    tap_text(w.common, at("git/main/.git"), "worktree: its repository");
    tap_text(w.admin, at("git/main/.git/worktrees/tree"), "worktree: its own directory");
    struct stat st = {0};
    stat(at("git/main/.git"), &st);
    tap_check(w.common_inode == st.st_ino && w.common_device == st.st_dev, "worktree: its inode");
    tap_text(worktree(repository).common, NULL, "worktree: not where .git is a directory");
    tap_text(worktree(at("git")).common, NULL, "worktree: not where there is no .git");

    /* Relative paths, as newer versions of git can write them. */
    make_file(at("git/tree/.git"), "gitdir: ../main/.git/worktrees/tree\n");
    make_file(at("git/main/.git/worktrees/tree/gitdir"), "../../../../tree/.git\n");
    tap_text(worktree(tree).common, at("git/main/.git"), "worktree: relative paths");

    /* The repository's side says something else. */
    make_file(at("git/main/.git/worktrees/tree/gitdir"), at("git/other/.git\n"));
    tap_text(worktree(tree).common, NULL, "worktree: it names another worktree");
    make_file(at("git/main/.git/worktrees/tree/gitdir"), at("git/tree/.git\n"));
    tap_check(worktree(tree).common != NULL, "worktree: it names this one");
    make_file(at("git/main/.git/worktrees/tree/commondir"), "../../..\n");
    tap_text(worktree(tree).common, NULL, "worktree: it leads elsewhere");
    make_file(at("git/main/.git/worktrees/tree/commondir"), "../..\n");
    chmod(at("git/main/.git/objects"), 0777);
    tap_text(worktree(tree).common, NULL, "worktree: open to all");
    chmod(at("git/main/.git/objects"), 0755);
    chmod(at("git/main/.git/worktrees/tree/gitdir"), 0666);
    tap_text(worktree(tree).common, NULL, "worktree: a file open to all");
    chmod(at("git/main/.git/worktrees/tree/gitdir"), 0644);
    tap_check(worktree(tree).common != NULL, "worktree: closed again");
    if (geteuid() == 0) {
        if (chown(at("git/main/.git"), 12345, 0) < 0)
            printf("# cannot chown\n");
        tap_text(worktree(tree).common, NULL, "worktree: of another owner");
        if (chown(at("git/main/.git"), 0, 0) < 0)
            printf("# cannot chown\n");
    }

    /* Another worktree of somebody's lies below the workspace; a link makes it this one. */
    tap_number(GIT("-C", repository, "worktree", "add", "-q", at("git/ws/sub")), 0,
               "worktree: one below the workspace");
    remove_all(at("git/ws/sub"));
    make_link(at("git/ws/sub"), ".");
    snprintf(text, sizeof(text), "gitdir: %s/git/main/.git/worktrees/sub\n", top);
    make_file(at("git/ws/.git"), text);
    tap_text(worktree(at("git/ws")).common, NULL, "attack: a link makes its name ours");

    /* What the inside could write into .git. */
    make_dir(at("git/bad"));
    make_dir(at("home/.ssh"));
    static const char *const targets[] = {
        "home/.ssh", "home", "git/main/.git", "git/main/.git/worktrees/tree", "git/absent", ""};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        snprintf(text, sizeof(text), "gitdir: %s/%s\n", top, targets[i]);
        make_file(at("git/bad/.git"), text);
        tap_text(worktree(at("git/bad")).common, NULL, "attack: .git names what is not ours");
    }
    forge("git/bad/forged", at("git/bad"));
    make_file(at("git/bad/.git"), "gitdir: forged/worktrees/w\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: forged in the workspace");
    make_link(at("git/around"), at("git/bad/forged"));
    make_file(at("git/bad/.git"), "gitdir: ../around/worktrees/w\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: by a link to there");
    make_link(at("git/bad/forged/link"), at("home/.ssh"));
    make_file(at("git/bad/.git"), "gitdir: forged/link\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: by a link to secrets");
    /* The repository would hold the workspace, or home. */
    forge("git", at("git/bad"));
    make_file(at("git/bad/.git"), "gitdir: ../worktrees/w\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: a repository that holds the workspace");
    forge("home", at("git/bad"));
    make_file(at("git/bad/.git"), "gitdir: ../../home/worktrees/w\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: home as a repository");
    forge("elsewhere", at("git/bad"));
    make_file(at("git/bad/.git"), "gitdir: ../../elsewhere/worktrees/w\n");
    tap_text(worktree(at("git/bad")).common, at("elsewhere"), "the same elsewhere is one");
    make_file(at("git/bad/.git"), "gitdir: ../../elsewhere/worktrees/w\nand more\n");
    tap_text(worktree(at("git/bad")).common, NULL, "attack: two lines");
    unlink(at("git/bad/.git"));
    make_link(at("git/bad/.git"), at("git/tree/.git"));
    tap_text(worktree(at("git/bad")).common, NULL, "attack: .git is a link");
    unlink(at("git/bad/.git"));
    mkfifo(at("git/bad/.git"), 0644);
    tap_text(worktree(at("git/bad")).common, NULL, "attack: .git is a FIFO");
    static char big[1 << 16];
    memset(big, '/', sizeof(big));
    memcpy(big, "gitdir: ", 8);
    make_bytes(at("git/bad/.git"), big, sizeof(big));
    tap_text(worktree(at("git/bad")).common, NULL, "attack: a huge .git");
    make_bytes(at("git/bad/.git"), big, 4000);
    tap_text(worktree(at("git/bad")).common, NULL, "attack: .git names the root");
    make_bytes(at("git/bad/.git"), "gitdir: x\0y\n", 12);
    tap_text(worktree(at("git/bad")).common, NULL, "attack: a NUL in .git");
}

static void test_submodule(void)
{
    char out[4096], text[2 * PATH_MAX];
    const char *super = at("git/super"), *module = at("git/super/lib");
    GIT("init", "-q", super);
    tap_number(GIT("-C", super, "submodule", "add", "-q", at("git/main"), "lib"), 0,
               "git submodule add");
    struct git_worktree w = worktree(module);
    tap_text(w.common, at("git/super/.git/modules/lib"), "submodule: its repository");
    tap_text(w.admin, at("git/super/.git/modules/lib"), "submodule: and its own directory");
    make_dir(at("git/thief"));
    snprintf(text, sizeof(text), "gitdir: %s/git/super/.git/modules/lib\n", top);
    make_file(at("git/thief/.git"), text);
    tap_text(worktree(at("git/thief")).common, NULL, "attack: another's submodule");
    tap_number(GIT("-C", module, "worktree", "add", "-q", at("git/libtree")), 0,
               "a worktree of a submodule");
    tap_text(worktree(at("git/libtree")).common, at("git/super/.git/modules/lib"),
             "its repository");
}

/* --- what of a repository is protected ---------------------------------------------------------
 */

static bool has(const char *const *list, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], path) == 0)
            return true;
    }
    return false;
}

static int guard(struct git_guard *g, const char *root)
{
    const char *const roots[] = {root, NULL};
    struct err e = {0};
    *g = (struct git_guard){0};
    return git_guard_find(&arena, roots, home, g, &e);
}

static bool guards(const char *root, const char *path)
{
    struct git_guard g;
    return guard(&g, root) == 0 && has(g.paths, g.count, path);
}

static void test_guard(void)
{
    char out[4096];
    struct git_guard g;
    const char *root = arena_format(&arena, "%s/guard/ws", top);
    const char *config = arena_format(&arena, "%s/.git/config", root);
    unlink(at("home/.gitconfig"));
    make_dir(root);
    tap_number(guard(&g, root), 0, "guard: no repository");
    tap_number((long)(g.count + g.absent_count), 0, "guard: nothing of it");
    GIT("init", "-q", root);
    tap_number(guard(&g, root), 0, "guard: a repository");
    tap_check(has(g.paths, g.count, config) && has(g.paths, g.count, at("guard/ws/.git/hooks")),
              "guard: its settings and hooks");
    tap_check(has(g.absent, g.absent_count, at("guard/ws/.git/commondir")),
              "guard: what would lead elsewhere");

    /* What settings name: where it is writable, and there alone. */
    make_file(at("guard/ws/inc/one"), "[include]\npath = two\npath = ../.git/config\n");
    make_file(at("guard/ws/inc/two"), "[include]\npath = two\npath = ../../outside\n");
    make_file(at("guard/outside"),
              "[core]\nhooksPath = from-outside\n[include]\npath=ws/inc/three");
    make_file(at("guard/ws/inc/three"), "");
    make_dir(at("guard/ws/from-outside"));
    make_dir(at("guard/ws/h"));
    make_file(config, "[include]\npath = ../inc/one\n[includeIf \"onbranch:x]\\\"y\"]\n"
                      "path = ../inc/if\n[core]\nhooksPath = h\n[core]\nhooksPath = /nowhere\n"
                      "hooksPath = %(prefix)/x\nhooksPath =\n[include]\npath\npath=~nobody/x\n");
    make_file(at("guard/ws/inc/if"), "");
    static const char *const named[] = {"inc/one", "inc/two", "inc/three",
                                        "inc/if",  "h",       "from-outside"};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        tap_check(guards(root, at("guard/ws/%s", named[i])), "guard: named: %s", named[i]);
    guard(&g, root);
    tap_check(!has(g.paths, g.count, at("guard/outside")), "guard: nothing outside");

    /* A link that leads to what is writable, and one that does not. */
    make_file(at("guard/ws/real"), "");
    unlink(config);
    make_link(config, "../real");
    tap_check(guards(root, at("guard/ws/real")), "guard: settings that are a link");
    make_link(config, "../../outside");
    tap_number(guard(&g, root), 0, "guard: a link that leads out");
    tap_check(!has(g.paths, g.count, at("guard/outside")), "guard: is not followed");
    unlink(config);
    mkfifo(config, 0644);
    tap_number(guard(&g, root), 0, "guard: a FIFO");
    unlink(config);

    /* What cannot be protected. */
    static char big[(1 << 20) + 2];
    memset(big, '#', sizeof(big));
    make_bytes(config, big, sizeof(big));
    tap_number(guard(&g, root), -E2BIG, "guard: settings that are too large");
    make_file(config, "[core]\nhooksPath = ../ws\n");
    tap_number(guard(&g, root), -EPERM, "guard: hooks in the whole workspace");
    make_file(config, "");
    char name[64];
    for (int i = 0; i < GIT_GUARD_MAX; i++) {
        snprintf(name, sizeof(name), "guard/ws/.git/modules/.m%d/config", i);
        make_file(at("%s", name), "");
        if (i == GIT_GUARD_MAX / 2)
            tap_check(guards(root, at("%s", name)), "guard: many");
    }
    tap_number(guard(&g, root), -E2BIG, "guard: too many");
    remove_all(at("guard/ws/.git/modules"));

    /* One file that is listed by its name, and a section as it was written once. */
    make_file(at("guard/ws/old/.git/config"), "");
    make_file(at("guard/ws/.gitmodules"), "[submodule.x]\npath = old\n");
    tap_check(guards(root, at("guard/ws/old/.git/config")), "guard: an old section");
    tap_check(guard(&g, config) == 0 && g.count == 0, "guard: a single file");

    /* Deeper than any real one. */
    char deep[PATH_MAX] = "guard/ws/.git/modules";
    for (int i = 0; i < 40; i++)
        snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d%d", i);
    make_file(at("%s/config", deep), "[core]\nworktree = /\n");
    tap_check(guards(root, at("%s/config", deep)), "guard: deep");
    /* Names that lead elsewhere. */
    make_file(config, "[submodule \"../../../outside\"]\nurl=x\n[submodule \"\"]\nurl=x\n"
                      "[submodule \"objects/x\"]\nurl=x\n[core]\nworktree=/\n");
    make_file(at("guard/ws/.git/modules/objects/x/config"), "");
    make_file(at("guard/ws/.git/modules/HEAD"), "");
    tap_check(guards(root, at("guard/ws/.git/modules/objects/x/config")), "guard: by its name");

    int wrong = 0;
    for (size_t max = 0; max < (size_t)512 << 10; max += 4099) {
        struct arena small;
        const char *const roots[] = {root, NULL};
        arena_init(&small, &allocator_libc, max);
        int r = git_guard_find(&small, roots, home, &g, NULL);
        wrong += r != 0 ? r != -ENOMEM : !has(g.paths, g.count, at("%s/config", deep));
        arena_release(&small);
    }
    tap_number(wrong, 0, "guard: memory that ends anywhere");
}

/* --- failing memory --------------------------------------------------------------------------- */

static void test_memory(void)
{
    make_file(at("home/.gitconfig"), "[user]\nname = A long enough name\nemail = x@y\n");
    int wrong = 0;
    for (size_t max = 0; max < (size_t)16 << 10; max += 101) {
        struct arena small;
        arena_init(&small, &allocator_libc, max);
        struct git_identity i = {0};
        struct git_worktree w = {0};
        const char *text = NULL;
        int r = git_identity_read(&small, home, NULL, &i);
        wrong += r != 0 ? r != -ENOMEM : !i.name || !i.email;
        if (r == 0) {
            r = git_identity_write(&small, &i, &text);
            wrong += r != 0 ? r != -ENOMEM : !text;
        }
        arena_release(&small);
        r = git_worktree_find(&small, at("git/tree"), home, NULL, &w);
        wrong += r != 0 ? r != -ENOMEM : !w.common || !w.admin;
        arena_release(&small);
    }
    tap_number(wrong, 0, "memory that ends anywhere");
}

int main(void)
{
    if (!place_open())
        return 1;
    test_identity();
    test_syntax();
    test_identity_write();
    test_worktree();
    test_submodule();
    test_guard();
    test_memory();
    place_close();
    return tap_done();
}
