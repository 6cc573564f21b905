/*
 * From request to plan: which walls, in which order; see plan.h.
 *
 * The new root is one tmpfs, read-only in the end. Over it lie: system directories of the host,
 * read-only; a small /etc made of listed public files; scratch places (/tmp, home, /dev/shm …),
 * which share the tmpfs and its one budget; and the workspace at its own path, last, so that it is
 * found even when it lies below one of the others.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/plan.h"

enum {
    SCRATCH_INODES = 200000,
    ARGUMENT_MAX = 100 << 10, /* the kernel takes 128 KiB for one argument */
};

const char *const plan_system_paths[] = {
    /* programs and libraries */
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    /* the public part of /etc: what programs need to find libraries, names, time, certificates */
    "/etc/alternatives",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/maven/logging",
    "/etc/maven/m2.conf",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.10",
    "/etc/python3.11",
    "/etc/python3.12",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/etc/xattr.conf",
    "/etc/xml",
    NULL,
};

/* Directories that cannot themselves be a workspace. */
static const char *const not_a_workspace[] = {
    "/",      "/bin",   "/boot",   "/dev", "/etc",     "/home",      "/lib",
    "/lib32", "/lib64", "/libx32", "/opt", "/proc",    "/run",       "/sbin",
    "/sys",   "/tmp",   "/usr",    "/var", "/var/tmp", "/usr/local", "/var/lib",
};

/* Nor can these, or anything below them: the system itself, or what the sandbox has of its own. */
static const char *const no_workspace_below[] = {
    "/boot",           "/dev",           "/etc",
    "/proc",           "/sys",           "/usr/bin",
    "/usr/sbin",       "/usr/lib",       "/usr/lib32",
    "/usr/lib64",      "/usr/libx32",    "/usr/libexec",
    "/usr/share",      "/usr/include",   "/usr/local/bin",
    "/usr/local/sbin", "/usr/local/lib", "/usr/local/libexec",
};

static const char *const namespaces[] = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};

/* From the caller's environment, if set: how to speak, never what to load or whom to trust. */
static const char *const passed_variables[] = {"TERM", "COLORTERM", "NO_COLOR", "TZ", "CI"};

/*
 * Files of /proc that everyone may read and that tell about the host's users. The others that
 * matter (kcore, kmsg …) are for root alone, which nobody inside is, and /proc is read-only.
 */
static const char *const masked_files[] = {"/proc/keys", "/proc/key-users"};

static const char *const filters[] = {"abi",  "io_uring", "keyring", "core",
                                      "init", "sockets",  "setid"};

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int plan_check_workspace(const char *path, struct err *e)
{
    for (size_t i = 0; i < COUNT(not_a_workspace); i++) {
        if (strcmp(path, not_a_workspace[i]) == 0)
            return err_set(e, -EINVAL,
                           "workspace '%s': a system directory cannot be a workspace; give a "
                           "directory in it with --workspace",
                           path);
    }
    for (size_t i = 0; i < COUNT(no_workspace_below); i++) {
        /* /dev/shm is ordinary space. */
        if (path_is_below(path, no_workspace_below[i]) && strncmp(path, "/dev/shm/", 9) != 0)
            return err_set(e, -EINVAL,
                           "workspace '%s': neither %s nor anything below it can be a workspace",
                           path, no_workspace_below[i]);
    }
    return 0;
}

/* --- a list that grows in the arena ------------------------------------------------------- */

struct builder {
    struct arena *arena;
    struct plan plan;
};

static void add(struct builder *b, struct plan_step step)
{
    if (b->plan.steps && b->plan.count < PLAN_STEPS_MAX)
        b->plan.steps[b->plan.count++] = step;
}

static void add_dir(struct builder *b, const char *path, unsigned mode)
{
    add(b, (struct plan_step){.kind = PLAN_DIR, .path = path, .number = {mode}});
}

static void add_scratch(struct builder *b, const char *path, unsigned mode)
{
    add(b, (struct plan_step){.kind = PLAN_SCRATCH, .path = path, .number = {mode}});
}

static void add_file(struct builder *b, const char *path, const char *content)
{
    add(b, (struct plan_step){.kind = PLAN_FILE, .path = path, .text = content, .number = {0444}});
}

static void add_link(struct builder *b, const char *path, const char *target)
{
    add(b, (struct plan_step){.kind = PLAN_LINK, .path = path, .text = target});
}

static void add_bind(struct builder *b, const char *path, const char *source, uint32_t flags)
{
    add(b, (struct plan_step){.kind = PLAN_BIND, .path = path, .text = source, .flags = flags});
}

static void add_env(struct builder *b, const char *variable)
{
    add(b, (struct plan_step){.kind = PLAN_ENV, .text = variable});
}

static void add_arg(struct builder *b, const char *arg)
{
    add(b, (struct plan_step){.kind = PLAN_ARG, .text = arg});
}

/* --- the parts ---------------------------------------------------------------------------- */

/* The private home, at a place that the workspace does not cover. */
static const char *home_for(const char *workspace)
{
    static const char *const homes[] = {"/home/" PLAN_USER, "/run/home/" PLAN_USER};
    return path_is_below(homes[0], workspace) ? homes[1] : homes[0];
}

static void plan_identity(struct builder *b, uint64_t timeout_ms)
{
    for (size_t i = 0; i < COUNT(namespaces); i++)
        add(b, (struct plan_step){.kind = PLAN_UNSHARE, .text = namespaces[i]});
    add(b, (struct plan_step){.kind = PLAN_IDENTITY, .number = {PLAN_UID, PLAN_GID}});
    add(b, (struct plan_step){.kind = PLAN_TIMEOUT, .number = {timeout_ms}});
    add(b, (struct plan_step){.kind = PLAN_HOSTNAME, .text = "nacre"});
    /* A nested user namespace would bring back mounts, cgroups and most of the kernel's code. */
    add(b, (struct plan_step){.kind = PLAN_SYSCTL, .text = "user/max_user_namespaces"});
}

static void plan_system(struct builder *b, const struct plan_host *host)
{
    for (size_t i = 0; i < host->count; i++) {
        const struct plan_host_entry *entry = &host->entries[i];
        if (entry->type == PLAN_HOST_LINK)
            add_link(b, entry->path, entry->target);
        else
            add_bind(b, entry->path, entry->path, PLAN_READ_ONLY);
    }
}

static bool is_long(const char *text)
{
    return strlen(text) > ARGUMENT_MAX;
}

static void plan_etc(struct builder *b, const char *home, const char *text)
{
    if (is_long(text))
        add_file(b, PLAN_TEXT_PATH, text);
    add_file(b, "/etc/passwd",
             arena_format(b->arena,
                          "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" PLAN_USER
                          ":x:%d:%d::%s:/bin/bash\n"
                          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                          PLAN_UID, PLAN_GID, home));
    add_file(
        b, "/etc/group",
        arena_format(b->arena, "root:x:0:\n" PLAN_USER ":x:%d:\nnogroup:x:65534:\n", PLAN_GID));
    add_file(b, "/etc/hosts", "127.0.0.1 localhost nacre\n::1 localhost nacre\n");
    add_file(b, "/etc/hostname", "nacre\n");
    add_file(b, "/etc/nsswitch.conf",
             "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
             "rpc: files\n");
}

static void plan_devices(struct builder *b)
{
    add_dir(b, "/dev", 0755);
    for (size_t i = 0; i < COUNT(devices); i++)
        add_bind(b, devices[i], devices[i], PLAN_DEVICES);
    add_link(b, "/dev/fd", "/proc/self/fd");
    add_link(b, "/dev/stdin", "/proc/self/fd/0");
    add_link(b, "/dev/stdout", "/proc/self/fd/1");
    add_link(b, "/dev/stderr", "/proc/self/fd/2");
    add_link(b, "/dev/ptmx", "pts/ptmx");
    add(b, (struct plan_step){.kind = PLAN_DEVPTS, .path = "/dev/pts"});
    add_scratch(b, "/dev/shm", 01777);
}

static void plan_proc(struct builder *b)
{
    add(b, (struct plan_step){.kind = PLAN_PROC, .path = "/proc", .flags = PLAN_READ_ONLY});
    for (size_t i = 0; i < COUNT(masked_files); i++)
        add_bind(b, masked_files[i], "/dev/null", PLAN_READ_ONLY | PLAN_IF_THERE);
}

static void plan_environment(struct builder *b, const struct plan_request *request,
                             const char *home)
{
    add_env(b, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    add_env(b, arena_format(b->arena, "HOME=%s", home));
    add_env(b, "USER=" PLAN_USER);
    add_env(b, "LOGNAME=" PLAN_USER);
    add_env(b, "SHELL=/bin/bash");
    add_env(b, "TMPDIR=/tmp");
    /* Pinned: the locale decides what bash takes for a letter or a blank. */
    add_env(b, "LANG=C.UTF-8");
    add_env(b, "LC_ALL=C.UTF-8");
    /* Unset, bash may think that a network daemon runs it, and read ~/.bashrc. */
    add_env(b, "SHLVL=0");

    for (const char *const *v = request->environment; v && *v; v++) {
        for (size_t i = 0; i < COUNT(passed_variables); i++) {
            size_t len = strlen(passed_variables[i]);
            if (strncmp(*v, passed_variables[i], len) == 0 && (*v)[len] == '=')
                add_env(b, *v);
        }
    }
}

static void plan_program(struct builder *b, const struct plan_host *host,
                         const struct plan_request *request)
{
    static const char *const stdio[] = {"stdin", "stdout", "stderr"};
    for (size_t i = 0; i < COUNT(stdio); i++)
        add(b, (struct plan_step){.kind = PLAN_FD, .text = stdio[i], .number = {i}});

    add(b, (struct plan_step){.kind = PLAN_PROGRAM, .path = host->bash});
    add_arg(b, "bash");
    add_arg(b, "-c");
    add_arg(b, "--");
    add_arg(b, is_long(request->text) ? "eval -- \"$(<" PLAN_TEXT_PATH ")\"" : request->text);
}

int plan_build(struct arena *arena, const struct plan_host *host,
               const struct plan_request *request, struct plan *ret, struct err *e)
{
    struct builder b = {.arena = arena};
    b.plan.steps = arena_alloc_array(arena, PLAN_STEPS_MAX, sizeof(*b.plan.steps));
    const char *home = home_for(request->workspace);

    plan_identity(&b, request->timeout_ms);
    add(&b,
        (struct plan_step){.kind = PLAN_ROOT, .number = {request->scratch_bytes, SCRATCH_INODES}});
    plan_system(&b, host);
    plan_etc(&b, home, request->text);
    plan_devices(&b);
    plan_proc(&b);
    add_scratch(&b, "/tmp", 01777);
    add_scratch(&b, "/var/tmp", 01777);
    add_scratch(&b, "/run", 0755);
    add_scratch(&b, home, 0700);
    add(&b, (struct plan_step){.kind = PLAN_BIND,
                               .path = request->workspace,
                               .text = request->workspace,
                               .flags = PLAN_OWNED,
                               .number = {request->workspace_device, request->workspace_inode}});
    /* 0 would still start a crash handler of the host, as root; 1 is the kernel's word for none. */
    add(&b, (struct plan_step){.kind = PLAN_LIMIT, .text = "core", .number = {1}});
    add(&b, (struct plan_step){.kind = PLAN_UMASK, .number = {request->umask}});
    for (size_t i = 0; i < COUNT(filters); i++)
        add(&b, (struct plan_step){.kind = PLAN_FILTER, .text = filters[i]});
    plan_environment(&b, request, home);
    add(&b, (struct plan_step){.kind = PLAN_CWD, .path = request->cwd});
    plan_program(&b, host, request);

    if (b.plan.count == PLAN_STEPS_MAX)
        return err_set(e, -E2BIG, "plan: more than %d steps", PLAN_STEPS_MAX - 1);
    if (arena->failed)
        return err_set(e, -ENOMEM, "plan: out of memory");
    *ret = b.plan;
    return 0;
}
