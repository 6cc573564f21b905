/* The plan: what it contains, that it survives its encoding, and what a workspace may be. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/plan.h"
#include "tap.h"

static const struct plan_host_entry entries[] = {
    {"/usr", PLAN_HOST_PLACE, NULL},
    {"/bin", PLAN_HOST_LINK, "usr/bin"},
};
static const struct plan_host host = {.entries = entries,
                                      .count = 2,
                                      .bash = "/bin/bash",
                                      .landlock_abi = 6,
                                      .counts_per_namespace = true};

static struct plan_request request_for(const char *workspace, const char *text)
{
    return (struct plan_request){
        .workspace = {.path = workspace, .device = 5, .inode = 6, .owned = true},
        .cwd = workspace,
        .text = text,
        .search_path = "/usr/bin",
        .umask = 027,
        .limits = {.timeout_ms = 1000,
                   .cpu_ms = 2500,
                   .memory_bytes = 64 << 20,
                   .processes = 5,
                   .files = 100,
                   .disk_bytes = 40960},
    };
}

/* The first step from `from` on of a kind whose path or text is `name`; count when there is none.
 */
static size_t find(const struct plan *plan, enum plan_kind kind, const char *name)
{
    size_t i = 0;
    for (; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind == kind && ((step->path && strcmp(step->path, name) == 0) ||
                                   (step->text && strcmp(step->text, name) == 0)))
            break;
    }
    return i;
}

static bool has(const struct plan *plan, enum plan_kind kind, const char *name)
{
    return find(plan, kind, name) < plan->count;
}

static void test_contents(void)
{
    struct arena arena;
    struct plan plan;
    arena_init(&arena, &allocator_libc, 1 << 20);
    const char *const variables[] = {"TERM=xterm", "LANG=de", "TERM=dumb"};
    struct plan_request request = request_for("/srv/project", "echo hi");
    request.variables = (struct plan_texts){variables, 3};
    tap_number(plan_build(&arena, &host, &request, &plan, NULL), 0, "a plan is built");

    static const char *const namespaces[] = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};
    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
        tap_check(has(&plan, PLAN_UNSHARE, namespaces[i]), "unshares %s", namespaces[i]);
    const struct plan_step *usr = &plan.steps[find(&plan, PLAN_BIND, "/usr")];
    tap_check(usr->flags == PLAN_READ_ONLY, "/usr is read-only");
    tap_check(has(&plan, PLAN_LINK, "/bin"), "a link of the host stays a link");

    size_t workspace = find(&plan, PLAN_BIND, "/srv/project");
    tap_check(plan.steps[workspace].flags == (PLAN_OWNED | PLAN_WATCHED),
              "the workspace is writable, owned and counted");
    tap_check(plan.steps[workspace].number[0] == 5 && plan.steps[workspace].number[1] == 6,
              "the workspace is held to its device and inode");
    bool last = true;
    for (size_t i = workspace + 1; i < plan.count; i++)
        last = last && plan.steps[i].kind != PLAN_BIND && plan.steps[i].kind != PLAN_SCRATCH;
    tap_check(last, "nothing is mounted after the workspace");

    tap_check(has(&plan, PLAN_ENV, "TERM=dumb") && has(&plan, PLAN_ENV, "LANG=de") &&
                  !has(&plan, PLAN_ENV, "TERM=xterm") && !has(&plan, PLAN_ENV, "LANG=C.UTF-8"),
              "the last value of a variable is the only one");
    static const struct {
        enum plan_kind kind;
        const char *name;
        uint64_t number;
    } numbers[] = {
        {PLAN_BUDGET, "wall_ms", 1000},      {PLAN_BUDGET, "cpu_ms", 2500},
        {PLAN_BUDGET, "processes", 5},       {PLAN_BUDGET, "memory_bytes", 64 << 20},
        {PLAN_BUDGET, "disk_bytes", 40960},  {PLAN_BUDGET, "disk_inodes", 10},
        {PLAN_LIMIT, "nofile", 100},         {PLAN_LIMIT, "core", 1},
        {PLAN_LIMIT, "nproc", 5 * 32 + 512}, {PLAN_LIMIT, "cpu", 4},
        {PLAN_LIMIT, "sigpending", 4096},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        size_t at = find(&plan, numbers[i].kind, numbers[i].name);
        tap_check(at < plan.count && plan.steps[at].number[0] == numbers[i].number,
                  "limit %s: %llu", numbers[i].name, (unsigned long long)numbers[i].number);
    }
    static const char *const writable[] = {"/tmp", "/dev/null", "/srv/project"};
    for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++) {
        size_t at = find(&plan, PLAN_ACCESS, writable[i]);
        tap_check(at < plan.count && strcmp(plan.steps[at].text, "write") == 0,
                  "Landlock leaves %s to be written", writable[i]);
    }
    tap_check(strcmp(plan.steps[find(&plan, PLAN_ACCESS, "/")].text, "read") == 0,
              "and the rest to be read");
    tap_check(has(&plan, PLAN_ENV, "LC_ALL=C.UTF-8"), "the locale is pinned");
    tap_check(has(&plan, PLAN_ARG, "echo hi") && has(&plan, PLAN_ARG, "--"), "bash gets the text");
    tap_check(!has(&plan, PLAN_FILE, PLAN_TEXT_PATH), "a short text needs no file");
    tap_check(has(&plan, PLAN_SYSCTL, "/proc/sys/user/max_user_namespaces"),
              "no nested user namespaces");
    arena_release(&arena);
}

/* What the launcher may build before there is a request. */
static void test_head(void)
{
    struct arena arena;
    struct plan head, plan, other;
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/srv/project", "echo hi");
    tap_number(plan_build_head(&arena, &host, &head, NULL), 0, "a head is built");
    plan_build(&arena, &host, &request, &plan, NULL);
    tap_check(head.count > 40 && plan_begins_with(&plan, &head), "a plan begins with the head");
    tap_check(!has(&head, PLAN_BIND, "/srv/project") && !has(&head, PLAN_BUDGET, "wall_ms") &&
                  !has(&head, PLAN_SCRATCH, "/home/agent"),
              "which has nothing of the request");
    request.limits.memory_bytes = 1 << 30;
    request.home = "/home/me";
    request.workspace_read_only = true;
    plan_build(&arena, &host, &request, &other, NULL);
    tap_check(plan_begins_with(&other, &head), "and is the same for another request");
    size_t space = 0;
    while (space < other.count && other.steps[space].kind != PLAN_SPACE)
        space++;
    tap_check(space >= head.count && space < other.count && other.steps[space].number[0] > 1 << 30,
              "its size comes after it");
    request.network = true;
    plan_build(&arena, &host, &request, &other, NULL);
    tap_check(!plan_begins_with(&other, &head), "with the host's network it is another");
    request.network = false;
    request.strength = PLAN_LANDLOCK_ONLY;
    request.scratch = "/tmp/x";
    plan_build(&arena, &host, &request, &other, NULL);
    tap_check(!plan_begins_with(&other, &head), "and without namespaces");
    struct plan_step *step = &plan.steps[find(&plan, PLAN_BIND, "/usr")];
    step->flags = 0;
    tap_check(!plan_begins_with(&plan, &head), "one flag makes a difference");
    plan.count = head.count - 1;
    tap_check(!plan_begins_with(&plan, &head), "a plan that is shorter does not begin with it");
    arena_release(&arena);
}

static void test_words(void)
{
    struct arena arena;
    struct plan plan;
    arena_init(&arena, &allocator_libc, 8 << 20);
    const char *const words[] = {"git", "status", ""};
    struct plan_request request = request_for("/srv/p", "git status ''");
    request.words = (struct plan_texts){words, 3};
    plan_build(&arena, &host, &request, &plan, NULL);
    size_t at = find(&plan, PLAN_WORD, "git");
    tap_check(at + 2 < plan.count && strcmp(plan.steps[at + 1].text, "status") == 0 &&
                  plan.steps[at + 2].kind == PLAN_WORD && !plan.steps[at + 2].text[0],
              "the words of a plain command, in order");
    tap_check(has(&plan, PLAN_ARG, "git status ''"), "and bash behind them");
    char *text = malloc(200000);
    memset(text, 'x', 199999);
    text[199999] = '\0';
    request.text = text;
    plan_build(&arena, &host, &request, &plan, NULL);
    tap_check(!has(&plan, PLAN_WORD, "git"), "not for a text that is too long for an argument");
    free(text);
    arena_release(&arena);
}

static void test_home(void)
{
    static const struct {
        const char *workspace, *of_caller, *home;
    } cases[] = {
        {"/srv/p", NULL, "HOME=/home/agent"},
        {"/home/agent/project", NULL, "HOME=/home/agent"},
        {"/home/agent", NULL, "HOME=/run/home/agent"},
        {"/home/agentx", NULL, "HOME=/home/agent"},
        {"/srv/p", "/home/me", "HOME=/home/me"},
        {"/home/me/project", "/home/me", "HOME=/home/me"},
        {"/home/me", "/home/me", "HOME=/home/agent"},
        {"/srv/p", "/root", "HOME=/root"},
        {"/srv/p", "/", "HOME=/home/agent"},
        {"/srv/p", "/usr/lib/daemon", "HOME=/home/agent"},
        {"/srv/p", "home", "HOME=/home/agent"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena arena;
        struct plan plan;
        arena_init(&arena, &allocator_libc, 1 << 20);
        struct plan_request request = request_for(cases[i].workspace, "");
        request.home = cases[i].of_caller;
        plan_build(&arena, &host, &request, &plan, NULL);
        tap_check(has(&plan, PLAN_ENV, cases[i].home), "in %s: %s", cases[i].workspace,
                  cases[i].home);
        arena_release(&arena);
    }
}

/* One line for each covered path, in the plan's order. */
static void describe_covers(const struct plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if ((step->kind != PLAN_PIN && step->kind != PLAN_HIDE) ||
            strncmp(step->path, "/proc/", 6) == 0)
            continue;
        buf_append_format(out, "%s %s%s;", plan_kinds[step->kind].name, step->path,
                          step->flags & PLAN_READ_ONLY ? " ro" : "");
    }
}

static void test_covers(void)
{
    static const char *const hide[] = {"/w/.env", "/w/secret", "/w/both"};
    static const char *const protect[] = {"/w/.git/hooks", "/w/secret/deep",     "/w/a/b/c",
                                          "/w/both",       "/other/.git/config", "/w"};
    struct arena arena;
    struct plan plan;
    struct buf text;
    arena_init(&arena, &allocator_libc, 1 << 20);
    buf_init(&text, &allocator_libc, 4096);
    struct plan_request request = request_for("/w", "true");
    request.hide = (struct plan_texts){hide, 3};
    request.protect = (struct plan_texts){protect, 6};
    plan_build(&arena, &host, &request, &plan, NULL);
    describe_covers(&plan, &text);
    tap_text(text.data,
             "pin /other/.git/config ro;pin /w ro;hide /w/.env;pin /w/.git;pin /w/.git/hooks ro;"
             "pin /w/a;pin /w/a/b;pin /w/a/b/c ro;hide /w/both;hide /w/secret;",
             "above a protected path nothing can be moved, and hidden is stronger");
    buf_release(&text);
    arena_release(&arena);
}

static void test_network(void)
{
    struct arena arena;
    struct plan plan;
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/w", "true");
    request.network = true;
    request.resolv_conf = "/run/resolv.conf";
    plan_build(&arena, &host, &request, &plan, NULL);
    tap_check(!has(&plan, PLAN_UNSHARE, "net") && has(&plan, PLAN_UNSHARE, "ipc"),
              "with the network its namespace is shared, and no other");
    tap_check(has(&plan, PLAN_BIND, "/run/resolv.conf") &&
                  has(&plan, PLAN_BIND, "/etc/resolv.conf"),
              "names can be looked up");
    tap_check(has(&plan, PLAN_FILTER, "sockets unix") && has(&plan, PLAN_SCOPE, "abstract sockets"),
              "Landlock keeps abstract sockets apart");
    struct plan_host older = host;
    older.landlock_abi = 5;
    plan_build(&arena, &older, &request, &plan, NULL);
    tap_check(!has(&plan, PLAN_FILTER, "sockets unix"), "where it cannot, there are none");
    arena_release(&arena);
}

static void test_landlock(void)
{
    static const char *const hide[] = {"/w/.env"};
    struct arena arena;
    struct plan plan;
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/w", "true");
    request.strength = PLAN_LANDLOCK_ONLY;
    request.scratch = "/tmp/x";
    request.uid = request.gid = 1234;
    tap_number(plan_build(&arena, &host, &request, &plan, NULL), 0, "landlock strength");
    bool mounts = false;
    for (size_t i = 0; i < plan.count; i++)
        mounts = mounts ||
                 (plan.steps[i].kind >= PLAN_HOSTNAME && plan.steps[i].kind < PLAN_LIMIT) ||
                 plan.steps[i].kind == PLAN_UNSHARE;
    tap_check(!mounts, "has no namespace and no mount");
    tap_check(has(&plan, PLAN_ACCESS, "/usr") && !has(&plan, PLAN_ACCESS, "/"),
              "leaves listed paths open alone");
    tap_check(has(&plan, PLAN_ENV, "HOME=/tmp/x") && has(&plan, PLAN_ENV, "TMPDIR=/tmp/x"),
              "has one scratch place");
    bool sockets = false;
    for (size_t i = 0; i < plan.count; i++)
        sockets = sockets || (plan.steps[i].kind == PLAN_FILTER &&
                              strncmp(plan.steps[i].text, "sockets", 7) == 0);
    tap_check(!sockets, "and no socket");
    struct err e = {0};
    request.hide = (struct plan_texts){hide, 1};
    tap_number(plan_build(&arena, &host, &request, &plan, &e), -ENOTSUP,
               "cannot hide, and says so");
    request.hide.count = 0;
    struct plan_host none = host;
    none.landlock_abi = 0;
    tap_number(plan_build(&arena, &none, &request, &plan, &e), -ENOTSUP, "needs Landlock");
    arena_release(&arena);
}

static void test_long_text(void)
{
    size_t len = 200000;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    struct arena arena;
    struct plan plan;
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/srv/p", text);
    plan_build(&arena, &host, &request, &plan, NULL);
    tap_check(has(&plan, PLAN_FILE, PLAN_TEXT_PATH) && has(&plan, PLAN_FILE, text),
              "a long text lies in a file");
    tap_check(!has(&plan, PLAN_ARG, text), "a long text is no argument");
    arena_release(&arena);
    free(text);
}

/* What a program that waits says when its gate has had this much written to it, and is closed. */
static size_t say_at_gate(const struct plan *plan, const char *word, int *ret_status)
{
    const char *argv[16] = {NULL};
    char said[256];
    int gate[2], out[2];
    size_t count = 0;
    for (size_t i = 0; i < plan->count && count < 15; i++) {
        if (plan->steps[i].kind == PLAN_ARG)
            argv[count++] = plan->steps[i].text;
    }
    if (pipe(gate) < 0 || pipe(out) < 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (dup2(gate[0], PLAN_GATE_FD) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0 &&
            dup2(out[1], STDERR_FILENO) >= 0 && close(out[0]) == 0 && close(out[1]) == 0)
            execv("/bin/bash", (char *const *)argv);
        _exit(99);
    }
    close(gate[0]);
    close(out[1]);
    if (write(gate[1], word, strlen(word)) < 0)
        tap_check(false, "the gate can be written to");
    close(gate[1]);
    ssize_t n = read(out[0], said, sizeof(said));
    close(out[0]);
    waitpid(pid, ret_status, 0);
    return n > 0 ? (size_t)n : 0;
}

static void test_gate(void)
{
    struct arena arena;
    struct plan plan;
    int status = 0;
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/srv/project", "echo hi");
    request.warm = true;
    tap_number(plan_build(&arena, &host, &request, &plan, NULL), 0, "a plan that waits is built");
    /* Here there is no text, which bash complains of if it looks for it. */
    tap_check(say_at_gate(&plan, "\n", &status) > 0, "with the word to begin, bash reads its text");
    tap_number((long)say_at_gate(&plan, "", &status), 0, "without it nothing is read or said");
    tap_check(WIFEXITED(status) && WEXITSTATUS(status) != 0, "and that is no success");
    arena_release(&arena);
}

static void test_codec(void)
{
    struct arena arena;
    struct plan plan, again;
    static struct plan_step steps[PLAN_STEPS_MAX];
    arena_init(&arena, &allocator_libc, 1 << 20);
    struct plan_request request = request_for("/srv/p", "echo 'a b'\n\xff");
    plan_build(&arena, &host, &request, &plan, NULL);
    struct buf bytes;
    buf_init(&bytes, &allocator_libc, PLAN_BYTES_MAX);
    tap_number(plan_encode(&plan, &bytes), 0, "a plan is encoded");
    struct err e = {0};
    tap_number(plan_decode(bytes.data, bytes.len, steps, PLAN_STEPS_MAX, &again, &e), 0,
               "and decoded");
    bool same = again.count == plan.count;
    for (size_t i = 0; same && i < plan.count; i++) {
        const struct plan_step *a = &plan.steps[i], *b = &again.steps[i];
        same = a->kind == b->kind && a->flags == b->flags && a->number[0] == b->number[0] &&
               a->number[1] == b->number[1] && !a->path == !b->path && !a->text == !b->text &&
               (!a->path || strcmp(a->path, b->path) == 0) &&
               (!a->text || strcmp(a->text, b->text) == 0);
    }
    tap_check(same, "every step comes back as it was");

    size_t refused = 0;
    for (size_t cut = 0; cut < bytes.len; cut++)
        refused += plan_decode(bytes.data, cut, steps, PLAN_STEPS_MAX, &again, &e) < 0;
    tap_check(refused == bytes.len, "a plan that is cut off anywhere is refused");
    tap_number(plan_decode(bytes.data, bytes.len, steps, 3, &again, &e), -E2BIG,
               "more steps than there is room for are refused");
    buf_release(&bytes);
    arena_release(&arena);
}

static int decode_one(struct plan_step step)
{
    struct plan plan = {.steps = &step, .count = 1}, again;
    struct plan_step steps[1];
    struct buf bytes;
    buf_init(&bytes, &allocator_libc, PLAN_BYTES_MAX);
    plan_encode(&plan, &bytes);
    int r = plan_decode(bytes.data, bytes.len, steps, 1, &again, NULL);
    buf_release(&bytes);
    return r;
}

static void test_refusals(void)
{
    tap_number(decode_one((struct plan_step){.kind = PLAN_DIR, .path = "/a"}), 0,
               "a plain step passes");
    static const struct {
        struct plan_step step;
        const char *name;
    } cases[] = {
        {{.kind = PLAN_NOTHING}, "an empty step"},
        {{.kind = PLAN_KINDS}, "an unknown kind"},
        {{.kind = PLAN_DIR}, "a missing path"},
        {{.kind = PLAN_DIR, .path = "/a", .text = "x"}, "a text too many"},
        {{.kind = PLAN_ENV, .path = "/a", .text = "x"}, "a path too many"},
        {{.kind = PLAN_DIR, .path = "a"}, "a relative path"},
        {{.kind = PLAN_DIR, .path = ""}, "an empty path"},
        {{.kind = PLAN_DIR, .path = "/.."}, "a path that climbs"},
        {{.kind = PLAN_DIR, .path = "/a/../b"}, "a path that climbs in the middle"},
        {{.kind = PLAN_DIR, .path = "/a", .flags = 1 << 20}, "an unknown flag"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        tap_check(decode_one(cases[i].step) == -EBADMSG, "refused: %s", cases[i].name);
    tap_number(decode_one((struct plan_step){.kind = PLAN_DIR, .path = "/a..b/..c/d.."}), 0,
               "dots in names are no climbing");
}

static void test_workspaces(void)
{
    static const struct {
        const char *path;
        bool allowed;
    } cases[] = {
        {"/", false},          {"/usr", false},        {"/etc", false},      {"/etc/nginx", false},
        {"/proc/1", false},    {"/sys/kernel", false}, {"/dev", false},      {"/dev/pts", false},
        {"/dev/shm", false},   {"/dev/shm/x", true},   {"/tmp", false},      {"/tmp/x", true},
        {"/home", false},      {"/home/me", true},     {"/usr/src/x", true}, {"/usr/bin", false},
        {"/usr/lib/x", false}, {"/etcetera", true},    {"/var", false},      {"/var/www", true},
        {"/srv/x", true},      {"/root", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        tap_check((plan_check_workspace(cases[i].path, NULL) == 0) == cases[i].allowed,
                  "workspace %s: %s", cases[i].path, cases[i].allowed ? "yes" : "no");
}

/* Every allocation fails once; none of it crashes or leaves a half plan that looks whole. */
static int allocations_left;

static void *failing_resize(void *user, void *old, size_t size)
{
    if (size && allocations_left-- == 0)
        return NULL;
    return allocator_libc.resize(user, old, size);
}

static void test_memory(void)
{
    const struct allocator failing = {.resize = failing_resize};
    int needed = 0;
    bool clean = true;
    for (;; needed++) {
        struct arena arena;
        struct plan plan = {0};
        allocations_left = needed;
        arena_init(&arena, &failing, 1 << 20);
        struct plan_request request = request_for("/srv/p", "true");
        int r = plan_build(&arena, &host, &request, &plan, NULL);
        arena_release(&arena);
        if (r == 0)
            break;
        clean = clean && r == -ENOMEM && plan.steps == NULL;
    }
    tap_check(needed > 0 && clean, "without memory there is no plan");
}

int main(void)
{
    test_contents();
    test_head();
    test_words();
    test_home();
    test_covers();
    test_network();
    test_landlock();
    test_long_text();
    test_gate();
    test_codec();
    test_refusals();
    test_workspaces();
    test_memory();
    return tap_done();
}
