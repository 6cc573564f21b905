/*
 * From request to plan: which walls, in which order; see plan.h.
 *
 * Full strength: the new root is one tmpfs, read-only in the end. Over it lie: system directories
 * of the host, read-only; a small /etc made of listed public files; scratch places (/tmp, home,
 * /dev/shm …), which share the tmpfs and its one budget; what else is listed; and the workspace at
 * its own path, after them, so that it is found even when it lies below one of the others. Landlock
 * and the filter of system calls then say the same once more, each in its own way.
 *
 * Landlock strength: no namespace, no mount. Landlock leaves the same paths open where they are,
 * and one private directory takes the place of every scratch place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "plan/plan.h"

enum {
    INODES_MAX = 200000,
    HEAD_BYTES = 16 << 20, /* as much as the system's part may take */
    HEAD_INODES = 4096,
    PAGE = 4096,
    ARGUMENT_MAX = 100 << 10, /* the kernel takes 128 KiB for one argument */
    /* Outer bounds for what the budgets of the tree do not count. */
    THREADS_PER_PROCESS = 32,
    THREADS_LEAST = 512,
    MESSAGE_BYTES = 819200,
    SIGNALS = 4096, /* queued, and timers */
};

static const char *const namespaces[] = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"};

/*
 * Files of /proc that tell about the host or its users. The others that matter (kcore, kmsg …) are
 * for root alone, which nobody inside is, and /proc is read-only.
 */
static const char *const masked[] = {
    "/proc/acpi",      "/proc/asound",      "/proc/bus",  "/proc/cmdline",       "/proc/driver",
    "/proc/fs",        "/proc/kallsyms",    "/proc/keys", "/proc/latency_stats", "/proc/key-users",
    "/proc/schedstat", "/proc/sched_debug", "/proc/scsi",
};

/* Rules of the filter of system calls; the families of sockets come behind them. */
static const char *const filters[] = {"abi",     "calls",  "namespaces", "terminal", "personality",
                                      "init",    "core",   "setid",      "trace",    "spawn",
                                      "buffers", "leases", "process"};

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- a list that grows in the arena ------------------------------------------------------- */

struct builder {
    struct arena *arena;
    const struct plan_host *host;
    const struct plan_request *request;
    const char *home;
    struct plan plan;
    size_t room; /* for steps */
};

/* Most plans are short: room for the longest would be touched in vain. */
static bool make_room(struct builder *b)
{
    enum { FIRST = 256 };
    if (b->plan.count < b->room || b->room == PLAN_STEPS_MAX)
        return b->plan.count < b->room;
    size_t room = b->room ? b->room * 2 : FIRST;
    room = room < PLAN_STEPS_MAX ? room : PLAN_STEPS_MAX;
    struct plan_step *steps = arena_alloc_array(b->arena, room, sizeof(*steps));
    if (!steps)
        return false; /* which the arena remembers */
    if (b->plan.count)
        memcpy(steps, b->plan.steps, b->plan.count * sizeof(*steps));
    b->plan.steps = steps;
    b->room = room;
    return true;
}

static void add(struct builder *b, struct plan_step step)
{
    if (make_room(b))
        b->plan.steps[b->plan.count++] = step;
}

static void add_path(struct builder *b, enum plan_kind kind, const char *path, uint32_t flags)
{
    add(b, (struct plan_step){.kind = kind, .path = path, .flags = flags});
}

static void add_text(struct builder *b, enum plan_kind kind, const char *text)
{
    add(b, (struct plan_step){.kind = kind, .text = text});
}

static void add_number(struct builder *b, enum plan_kind kind, const char *text, uint64_t number)
{
    add(b, (struct plan_step){.kind = kind, .text = text, .number = {number}});
}

static void add_scratch(struct builder *b, const char *path, unsigned mode)
{
    add(b, (struct plan_step){.kind = PLAN_SCRATCH, .path = path, .number = {mode}});
}

static void add_file(struct builder *b, const char *path, const char *content, unsigned mode)
{
    add(b, (struct plan_step){.kind = PLAN_FILE, .path = path, .text = content, .number = {mode}});
}

static void add_link(struct builder *b, const char *path, const char *target)
{
    add(b, (struct plan_step){.kind = PLAN_LINK, .path = path, .text = target});
}

static void add_bind(struct builder *b, const char *path, const char *source, uint32_t flags)
{
    add(b, (struct plan_step){.kind = PLAN_BIND, .path = path, .text = source, .flags = flags});
}

/* With a layer nothing is written to the place itself; what is counted is the layer. */
static void add_place(struct builder *b, const struct plan_place *place, uint32_t flags)
{
    const uint32_t layered = PLAN_WATCHED;
    add(b, (struct plan_step){.kind = PLAN_BIND,
                              .path = place->path,
                              .text = place->source ? place->source : place->path,
                              .flags = place->layer ? (flags & ~layered) | PLAN_READ_ONLY : flags,
                              .number = {place->device, place->inode}});
    if (place->layer)
        add(b, (struct plan_step){.kind = PLAN_LAYER,
                                  .path = place->path,
                                  .text = place->layer,
                                  .flags = flags & (PLAN_OWNED | layered)});
}

static void add_sysctl(struct builder *b, const char *path, const char *value)
{
    add(b, (struct plan_step){.kind = PLAN_SYSCTL, .path = path, .text = value});
}

static void add_access(struct builder *b, const char *path, const char *access)
{
    add(b, (struct plan_step){.kind = PLAN_ACCESS, .path = path, .text = access});
}

/* The last value of a variable is the one that counts, and the only one. */
static void add_env(struct builder *b, const char *variable)
{
    if (!variable)
        return; /* out of memory, which the arena remembers */
    size_t len = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < b->plan.count; i++) {
        struct plan_step *step = &b->plan.steps[i];
        if (step->kind == PLAN_ENV && strncmp(step->text, variable, len) == 0) {
            step->text = variable;
            return;
        }
    }
    add_text(b, PLAN_ENV, variable);
}

/* --- the parts ---------------------------------------------------------------------------- */

/* The private home: the caller's own path, unless the workspace or the system covers it. */
static const char *home_for(const struct plan_host *host, const struct plan_request *request)
{
    const char *const homes[] = {request->home, "/home/" PLAN_USER, "/run/home/" PLAN_USER};
    for (size_t i = 0; i < COUNT(homes) - 1; i++) {
        bool covered = !homes[i] || homes[i][0] != '/' ||
                       plan_check_workspace(homes[i], NULL) < 0 ||
                       path_is_below(homes[i], request->workspace.path);
        /* What is shown of the system there would be the host's, and not private. */
        for (size_t k = 0; !covered && k < host->count; k++)
            covered = path_is_below(homes[i], host->entries[k].path);
        if (!covered)
            return homes[i];
    }
    return homes[COUNT(homes) - 1];
}

static void plan_namespaces(struct builder *b, bool network)
{
    add_text(b, PLAN_STRENGTH, "full");
    for (size_t i = 0; i < COUNT(namespaces); i++) {
        if (!network || strcmp(namespaces[i], "net") != 0)
            add_text(b, PLAN_UNSHARE, namespaces[i]);
    }
    add(b, (struct plan_step){.kind = PLAN_IDENTITY, .number = {PLAN_UID, PLAN_GID}});
}

static void plan_no_namespaces(struct builder *b)
{
    add_text(b, PLAN_STRENGTH, "landlock");
    add(b, (struct plan_step){.kind = PLAN_IDENTITY, .number = {b->request->uid, b->request->gid}});
}

static void plan_budgets(struct builder *b)
{
    const struct plan_limits *limits = &b->request->limits;
    const struct {
        const char *name;
        uint64_t value;
    } budgets[] = {
        {"wall_ms", limits->timeout_ms},        {"cpu_ms", limits->cpu_ms},
        {"memory_bytes", limits->memory_bytes}, {"processes", limits->processes},
        {"disk_bytes", limits->disk_bytes},     {"disk_inodes", limits->disk_bytes / PAGE},
    };
    /* How long it may take is nothing that is built. */
    for (size_t i = b->request->warm ? 1 : 0; i < COUNT(budgets); i++) {
        if (budgets[i].value)
            add_number(b, PLAN_BUDGET, budgets[i].name, budgets[i].value);
    }
}

/*
 * Scratch is memory and counts as such, so it is a little larger: what fills it passes that limit
 * first, and is stopped. It has no more files than would fill it, too.
 */
static void plan_space(struct builder *b)
{
    uint64_t bytes = b->request->limits.memory_bytes;
    if (!bytes)
        bytes = UINT64_C(1) << 30;
    uint64_t inodes = bytes / PAGE > INODES_MAX ? INODES_MAX : bytes / PAGE;
    bytes += bytes / 2 + (16 << 20);
    add(b, (struct plan_step){.kind = PLAN_SPACE, .number = {bytes, inodes}});
}

static void plan_root(struct builder *b, bool network)
{
    add_text(b, PLAN_HOSTNAME, "nacre");
    /* A nested user namespace would bring back mounts, cgroups and most of the kernel's code. */
    add_sysctl(b, "/proc/sys/user/max_user_namespaces", "0");
    /* The kernel gives each user so many, of which the caller outside needs some, too. */
    if (b->host->inotify_instances) {
        add_sysctl(b, "/proc/sys/user/max_inotify_instances",
                   arena_format(b->arena, "%u", b->host->inotify_instances / 2));
        add_sysctl(b, "/proc/sys/user/max_inotify_watches",
                   arena_format(b->arena, "%u", b->host->inotify_watches / 2));
    }
    /* What waits in sockets is memory that counts for nobody. */
    if (!network) {
        add_sysctl(b, "/proc/sys/net/ipv4/tcp_rmem", "4096 65536 262144");
        add_sysctl(b, "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 262144");
    }
    add(b, (struct plan_step){.kind = PLAN_ROOT, .number = {HEAD_BYTES, HEAD_INODES}});
}

static void plan_system(struct builder *b)
{
    for (size_t i = 0; i < b->host->count; i++) {
        const struct plan_host_entry *entry = &b->host->entries[i];
        if (entry->type == PLAN_HOST_LINK)
            add_link(b, entry->path, entry->target);
        else if (entry->type == PLAN_HOST_COPY)
            add_file(b, entry->path, entry->target, 0444);
        else
            add_bind(b, entry->path, entry->path, PLAN_READ_ONLY);
    }
}

/* With every NUL as \0, and so every backslash as two: a step's text has no NUL in it. */
static const char *escape_nul(struct arena *arena, const char *bytes, size_t len)
{
    char *text = arena_alloc_array(arena, len + 1, 2), *to = text;
    for (size_t i = 0; text && i < len; i++) {
        if (bytes[i] == '\0' || bytes[i] == '\\')
            *to++ = '\\';
        *to++ = (char)(bytes[i] ? bytes[i] : '0');
    }
    if (to)
        *to = '\0';
    return text;
}

/* Made before the root is closed, as part of it. */
static void plan_script(struct builder *b)
{
    const struct plan_script *script = &b->request->script;
    if (!script->path)
        return;
    bool plain = !memchr(script->bytes, '\0', script->len);
    add(b, (struct plan_step){
               .kind = PLAN_FILE,
               .path = script->path,
               .text = plain ? arena_copy(b->arena, script->bytes, script->len)
                             : escape_nul(b->arena, script->bytes, script->len),
               .flags = plain ? 0 : PLAN_ESCAPED,
               .number = {0444},
           });
}

static bool is_long(const char *text)
{
    return strlen(text) > ARGUMENT_MAX;
}

/* What of /etc is the same for everybody. */
static void plan_etc(struct builder *b, bool network)
{
    add_file(b, "/etc/group",
             arena_format(b->arena, "root:x:0:\n" PLAN_USER ":x:%d:\nnogroup:x:65534:\n", PLAN_GID),
             0444);
    add_file(b, "/etc/hosts", "127.0.0.1 localhost nacre\n::1 localhost nacre\n", 0444);
    add_file(b, "/etc/hostname", "nacre\n", 0444);
    add_file(b, "/etc/nsswitch.conf",
             arena_format(b->arena,
                          "passwd: files\ngroup: files\nhosts: files%s\nservices: files\n"
                          "protocols: files\nrpc: files\n",
                          network ? " dns" : ""),
             0444);
}

static void plan_own_etc(struct builder *b)
{
    const struct plan_request *request = b->request;
    if (is_long(request->text) && !request->warm)
        add_file(b, PLAN_TEXT_PATH, request->text, 0444);
    if (!request->warm)
        plan_script(b);
    add_file(b, "/etc/passwd",
             arena_format(b->arena,
                          "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" PLAN_USER
                          ":x:%d:%d::%s:/bin/bash\n"
                          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                          PLAN_UID, PLAN_GID, b->home),
             0444);
    if (request->network && request->resolv_conf)
        add_bind(b, "/etc/resolv.conf", request->resolv_conf, PLAN_READ_ONLY);
}

static void plan_devices(struct builder *b)
{
    add(b, (struct plan_step){.kind = PLAN_DIR, .path = "/dev", .number = {0755}});
    for (size_t i = 0; i < COUNT(devices); i++)
        add_bind(b, devices[i], devices[i], PLAN_DEVICES);
    add_link(b, "/dev/fd", "/proc/self/fd");
    add_link(b, "/dev/stdin", "/proc/self/fd/0");
    add_link(b, "/dev/stdout", "/proc/self/fd/1");
    add_link(b, "/dev/stderr", "/proc/self/fd/2");
    add_link(b, "/dev/ptmx", "pts/ptmx");
    add(b, (struct plan_step){.kind = PLAN_MOUNT, .path = "/dev/pts", .text = "devpts"});
    add(b, (struct plan_step){.kind = PLAN_MOUNT, .path = "/dev/mqueue", .text = "mqueue"});
    add_scratch(b, "/dev/shm", 01777);
}

static void plan_proc(struct builder *b)
{
    add_path(b, PLAN_PROC, "/proc", PLAN_READ_ONLY);
    for (size_t i = 0; i < COUNT(masked); i++)
        add_path(b, PLAN_HIDE, masked[i], PLAN_IF_THERE);
}

/* Listed paths, those above others first. What lies in the workspace is shown with it. */
static void plan_places(struct builder *b, const struct plan_places *places, uint32_t flags)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct plan_place *place = &places->items[i];
        if (path_is_below(place->path, b->request->workspace.path))
            continue;
        if (place->target)
            add(b, (struct plan_step){.kind = PLAN_LINK,
                                      .path = place->path,
                                      .text = place->target,
                                      .flags = PLAN_IF_THERE});
        else
            add_place(b, place, flags | (place->owned ? PLAN_OWNED : 0));
    }
}

/* --- what of the workspace is hidden or protected ------------------------------------------ */

/* The strongest first, for paths that are listed twice. */
enum cover { COVER_HIDE, COVER_PROTECT, COVER_PIN };

struct covered {
    const char *path;
    enum cover cover;
};

static int compare_covered(const void *a, const void *b)
{
    const struct covered *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (int)x->cover - (int)y->cover;
}

static size_t count_slashes(const char *path)
{
    size_t count = 0;
    for (; *path; path++)
        count += *path == '/';
    return count;
}

/*
 * A protected path keeps its place only if no directory above it can be moved away and built anew;
 * and a hidden one that is moved would be found by the next run. So each of these, up to what is
 * shown, becomes a mount, too: the kernel moves none.
 */
static size_t cover_above(struct builder *b, const char *path, struct covered *list, size_t count)
{
    const char *top =
        path_is_below(path, b->request->workspace.path) ? b->request->workspace.path : NULL;
    for (size_t i = 0; i < b->request->write.count; i++) {
        const char *root = b->request->write.items[i].path;
        if (path_is_below(path, root) && (!top || strlen(root) < strlen(top)))
            top = root;
    }
    for (size_t i = top ? strlen(top) + 1 : strlen(path); i < strlen(path); i++) {
        if (path[i] == '/' && strncmp(path, b->request->workspace.path, i) == 0 &&
            !b->request->workspace.path[i])
            continue; /* the workspace itself is a mount already */
        if (path[i] == '/')
            list[count++] = (struct covered){arena_copy(b->arena, path, i), COVER_PIN};
    }
    return count;
}

static void plan_covers(struct builder *b)
{
    const struct plan_texts *hide = &b->request->hide, *protect = &b->request->protect;
    size_t max = hide->count + protect->count, count = 0;
    for (size_t i = 0; i < hide->count; i++)
        max += count_slashes(hide->items[i]);
    for (size_t i = 0; i < protect->count; i++)
        max += count_slashes(protect->items[i]);
    struct covered *list = arena_alloc_array(b->arena, max ? max : 1, sizeof(*list));
    if (!list)
        return;
    for (size_t i = 0; i < hide->count; i++) {
        list[count++] = (struct covered){hide->items[i], COVER_HIDE};
        count = cover_above(b, hide->items[i], list, count);
    }
    for (size_t i = 0; i < protect->count; i++) {
        list[count++] = (struct covered){protect->items[i], COVER_PROTECT};
        count = cover_above(b, protect->items[i], list, count);
    }
    if (b->arena->failed)
        return;
    qsort(list, count, sizeof(*list), compare_covered);

    const char *hidden = NULL; /* below it there is nothing */
    for (size_t i = 0; i < count; i++) {
        if ((i && strcmp(list[i].path, list[i - 1].path) == 0) ||
            (hidden && path_is_below(list[i].path, hidden)))
            continue;
        if (list[i].cover == COVER_HIDE) {
            hidden = list[i].path;
            add_path(b, PLAN_HIDE, list[i].path, PLAN_IF_THERE);
        } else {
            add_path(b, PLAN_PIN, list[i].path,
                     PLAN_IF_THERE | (list[i].cover == COVER_PROTECT ? PLAN_READ_ONLY : 0));
        }
    }
}

/* --- limits, Landlock, filter, environment ------------------------------------------------- */

/* What the kernel counts for each process: bounds behind the budgets of the tree. */
static void plan_limits(struct builder *b)
{
    const struct plan_limits *limits = &b->request->limits;
    /* 0 would still start a crash handler of the host, as root; 1 is the kernel's word for none. */
    add_number(b, PLAN_LIMIT, "core", 1);
    if (limits->files)
        add_number(b, PLAN_LIMIT, "nofile", limits->files);
    if (limits->processes && b->host->counts_per_namespace && b->request->strength == PLAN_FULL)
        add_number(b, PLAN_LIMIT, "nproc", limits->processes * THREADS_PER_PROCESS + THREADS_LEAST);
    if (limits->cpu_ms)
        add_number(b, PLAN_LIMIT, "cpu", limits->cpu_ms / 1000 + 2);
    if (limits->disk_bytes)
        add_number(b, PLAN_LIMIT, "fsize",
                   limits->disk_bytes + limits->disk_bytes / 4 + (64 << 20));
    add_number(b, PLAN_LIMIT, "msgqueue", MESSAGE_BYTES);
    add_number(b, PLAN_LIMIT, "sigpending", SIGNALS);
    add(b, (struct plan_step){.kind = PLAN_UMASK, .number = {b->request->umask}});
    if (b->request->deterministic)
        add_text(b, PLAN_STEADY, "addresses");
}

static void access_places(struct builder *b, const struct plan_places *places, const char *access)
{
    for (size_t i = 0; i < places->count; i++) {
        if (!places->items[i].target)
            add_access(b, places->items[i].path, access);
    }
}

/* The directory above. */
static const char *above(struct arena *arena, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash > path ? arena_copy(arena, path, (size_t)(slash - path)) : "/";
}

/* In full strength everything that is there may be read: what may not is not there. */
static void plan_landlock(struct builder *b)
{
    const struct plan_request *request = b->request;
    if (!b->host->landlock_abi)
        return;
    add(b, (struct plan_step){.kind = PLAN_LANDLOCK, .number = {b->host->landlock_abi}});
    if (request->strength == PLAN_FULL) {
        /* Queues are opened by a mount of the kernel's own, which lies below no other. Not
         * /dev/zero: mapped to be shared it is memory that counts for nobody. */
        const char *const writable[] = {"/dev/null",   "/dev/full",    "/dev/tty", "/dev/pts",
                                        "/dev/random", "/dev/urandom", "/dev/shm", "/dev/mqueue",
                                        "/tmp",        "/var/tmp",     "/run",     b->home};
        add_access(b, "/", "read");
        for (size_t i = 0; i < COUNT(writable); i++)
            add_access(b, writable[i], "write");
    } else {
        for (size_t i = 0; i < b->host->count; i++) {
            if (b->host->entries[i].type != PLAN_HOST_LINK)
                add_access(b, b->host->entries[i].path, "read");
        }
        add_access(b, "/proc", "read");
        for (size_t i = 0; i < COUNT(devices); i++)
            add_access(b, devices[i], strcmp(devices[i], "/dev/zero") == 0 ? "read" : "write");
        add_access(b, request->scratch, "write");
        access_places(b, &request->read, "read");
    }
    access_places(b, &request->write, "write");
    /* A layer that is laid later is none that a rule could name: the directory above it is. */
    add_access(b,
               request->warm && request->workspace.layer ? above(b->arena, request->workspace.path)
                                                         : request->workspace.path,
               request->workspace_read_only ? "read" : "write");
    add_text(b, PLAN_SCOPE, "abstract sockets");
    add_text(b, PLAN_SCOPE, "signals");
}

/*
 * Which sockets there may be. A namespace or Landlock keeps local ones among the inside; where
 * neither does, there are none.
 */
static void plan_filter(struct builder *b)
{
    enum { ABI_SCOPES = 6 };
    const struct plan_request *request = b->request;
    bool full = request->strength == PLAN_FULL;
    for (size_t i = 0; i < COUNT(filters); i++) {
        /* Process 1 is the host's there, and so are all others. */
        bool others = !full && strcmp(filters[i], "init") == 0;
        add_text(b, PLAN_FILTER, others ? "others" : filters[i]);
    }
    add_text(b, PLAN_FILTER, full ? "memory" : "no memory files");
    if (full && (!request->network || b->host->landlock_abi >= ABI_SCOPES))
        add_text(b, PLAN_FILTER, "sockets unix");
    if (full || request->network) {
        add_text(b, PLAN_FILTER, "sockets inet");
        add_text(b, PLAN_FILTER, "sockets netlink");
    }
}

static void plan_environment(struct builder *b)
{
    const struct plan_request *request = b->request;
    const char *scratch = request->strength == PLAN_FULL ? "/tmp" : request->scratch;
    add_env(b, "LANG=C.UTF-8");
    /* Under a tracer, which every box has, it fails and takes the program's status with it. */
    add_env(b, "ASAN_OPTIONS=detect_leaks=0");
    /* Landlock shows that the file is there, but not what is in it, which git takes for an error.
     */
    if (request->strength != PLAN_FULL)
        add_env(b, "GIT_CONFIG_NOSYSTEM=1");
    for (size_t i = 0; i < request->variables.count; i++)
        add_env(b, request->variables.items[i]);
    static const char *const fixed[] = {"TZ=UTC", "SOURCE_DATE_EPOCH=315532800", "PYTHONHASHSEED=0",
                                        "PERL_HASH_SEED=0"};
    for (size_t i = 0; request->deterministic && i < COUNT(fixed); i++)
        add_env(b, fixed[i]);
    /* From here on ours alone. */
    add_env(b, arena_format(b->arena, "PATH=%s", request->search_path));
    add_env(b, arena_format(b->arena, "HOME=%s", b->home));
    add_env(b, "USER=" PLAN_USER);
    add_env(b, "LOGNAME=" PLAN_USER);
    add_env(b, "SHELL=/bin/bash");
    add_env(b, arena_format(b->arena, "TMPDIR=%s", scratch));
    /* Pinned: the locale decides what bash takes for a letter or a blank. */
    add_env(b, "LC_ALL=C.UTF-8");
    /* Unset, bash may think that a network daemon runs it, and read ~/.bashrc. */
    add_env(b, "SHLVL=0");
}

/* Between quotes in which nothing means anything. */
static const char *quote(struct arena *arena, const char *text)
{
    char *quoted = arena_alloc_array(arena, strlen(text) + 1, 4), *to = quoted;
    if (!quoted)
        return "";
    for (; *text; text++) {
        const char *piece = *text == '\'' ? "'\\''" : (const char[]){*text, '\0'};
        size_t len = strlen(piece);
        memcpy(to, piece, len);
        to += len;
    }
    *to = '\0';
    return quoted;
}

/*
 * A bash that waits for its text. What it did until then leaves nothing that the text could see:
 * the time it waited, where it was, and the variable that the text came in. That the gate is gone
 * is no word to begin: then whoever builds the walls has died over it.
 */
static void plan_waiting_program(struct builder *b)
{
    add_number(b, PLAN_FD, "gate", PLAN_GATE_FD);
    add_path(b, PLAN_CWD, "/", 0);
    add_path(b, PLAN_PROGRAM, b->host->bash, 0);
    add_text(b, PLAN_ARG, "bash");
    add_text(b, PLAN_ARG, "-c");
    add_text(b, PLAN_ARG, "--");
    add_text(b, PLAN_ARG,
             "read -r -N 1 -u 9 || exit; exec 9<&-; IFS= read -r -d '' < " PLAN_TEXT_PATH
             "; SECONDS=0; eval -- \"$REPLY\"");
    add_text(b, PLAN_WAIT, b->request->workspace_held ? "text" : "workspace");
}

/* What a warm plan has besides: the workspace; then what is to run, where, and how long. */
static void plan_rest(struct builder *b, uint32_t flags)
{
    const struct plan_request *request = b->request;
    if (!request->workspace_held)
        add_place(b, &request->workspace, PLAN_OWNED | flags);
    plan_covers(b);
    plan_script(b);
    if (!request->workspace_held)
        add_text(b, PLAN_WAIT, "text");
    if (request->limits.timeout_ms)
        add_number(b, PLAN_BUDGET, "wall_ms", request->limits.timeout_ms);
    const char *input = request->input ? "" : "exec < /dev/null; ";
    const char *cwd = quote(b->arena, request->cwd);
    /* Not through a link: what was a directory when the plan was made may be one now. */
    add_file(b, PLAN_TEXT_PATH,
             arena_format(b->arena,
                          "%scd -P -- '%s' && [ \"$PWD\" = '%s' ] || exit 125; "
                          "unset REPLY OLDPWD; export OLDPWD; %s",
                          input, cwd, cwd, request->text),
             0444);
}

static void plan_program(struct builder *b)
{
    static const char *const stdio[] = {"stdin", "stdout", "stderr"};
    for (size_t i = 0; i < COUNT(stdio); i++)
        add_number(b, PLAN_FD, i == 2 && b->request->combined ? PLAN_COMBINED : stdio[i], i);
    if (b->request->warm) {
        plan_waiting_program(b);
        return;
    }
    if (b->request->session_fd)
        add_number(b, PLAN_FD, PLAN_SESSION, b->request->session_fd);

    if (b->request->strength != PLAN_FULL)
        plan_script(b);
    bool in_file = is_long(b->request->text);
    const char *text = b->request->text;
    if (in_file && b->request->strength == PLAN_FULL) {
        text = "eval -- \"$(<" PLAN_TEXT_PATH ")\"";
    } else if (in_file) {
        add_file(b, arena_format(b->arena, "%s/.text", b->request->scratch), text, 0400);
        text = "eval -- \"$(<\"$HOME/.text\")\"";
    }
    add_path(b, PLAN_CWD, b->request->cwd, 0);
    /* A plain command needs no shell, which takes longer to start than most of them run. */
    for (size_t i = 0; !in_file && i < b->request->words.count; i++)
        add_text(b, PLAN_WORD, b->request->words.items[i]);
    add_path(b, PLAN_PROGRAM, b->host->bash, 0);
    add_text(b, PLAN_ARG, "bash");
    add_text(b, PLAN_ARG, "-c");
    add_text(b, PLAN_ARG, "--");
    add_text(b, PLAN_ARG, text);
}

/* --- the whole ---------------------------------------------------------------------------- */

/* What depends on the host alone, and whether its network is shared. */
static void plan_head(struct builder *b, bool network)
{
    plan_namespaces(b, network);
    plan_root(b, network);
    plan_system(b);
    plan_etc(b, network);
    plan_devices(b);
    plan_proc(b);
    add_scratch(b, "/tmp", 01777);
    add_scratch(b, "/var/tmp", 01777);
    add_scratch(b, "/run", 0755);
}

/* Returns how the workspace is shown. */
static uint32_t plan_mounts(struct builder *b)
{
    const struct plan_request *request = b->request;
    plan_space(b);
    plan_own_etc(b);
    add_scratch(b, b->home, 0700);
    if (request->git_config)
        add_file(b, arena_format(b->arena, "%s/.gitconfig", b->home), request->git_config, 0644);
    plan_places(b, &request->read, PLAN_READ_ONLY);
    plan_places(b, &request->write, PLAN_WATCHED);
    uint32_t flags = request->workspace_read_only ? PLAN_READ_ONLY : PLAN_WATCHED;
    if (request->workspace_held)
        flags = (flags & ~(uint32_t)PLAN_WATCHED) | PLAN_HELD;
    /* One that waits has nothing of the workspace: no code of its own could run there yet. What is
     * held in memory is the exception; see plan_can_be_warm. */
    bool later = request->warm && !request->workspace_held;
    if (later)
        add(b, (struct plan_step){.kind = PLAN_DIR,
                                  .path = request->workspace.path,
                                  .flags = PLAN_OWNED,
                                  .number = {0755}});
    else
        add_place(b, &request->workspace, PLAN_OWNED | flags);
    if (later && request->workspace.layer)
        add_text(b, PLAN_STORE,
                 above(b->arena, above(b->arena, above(b->arena, request->workspace.layer))));
    if (!request->warm)
        plan_covers(b);
    return flags;
}

int plan_build(struct arena *arena, const struct plan_host *host,
               const struct plan_request *request, struct plan *ret, struct err *e)
{
    bool full = request->strength == PLAN_FULL;
    struct builder b = {.arena = arena,
                        .host = host,
                        .request = request,
                        .home = full ? home_for(host, request) : request->scratch};
    if (!full && (!host->landlock_abi || !request->scratch))
        return err_set(e, -ENOTSUP, "plan: no Landlock to build landlock strength with");
    if (!full && (request->hide.count || request->protect.count || request->workspace_held))
        return err_set(e, -ENOTSUP,
                       "plan: in landlock strength nothing in the workspace can be hidden or "
                       "protected, nor can it be in memory");
    if (full)
        plan_head(&b, request->network);
    else
        plan_no_namespaces(&b);
    plan_budgets(&b);
    uint32_t flags = full ? plan_mounts(&b) : 0;
    plan_limits(&b);
    plan_landlock(&b);
    plan_filter(&b);
    plan_environment(&b);
    plan_program(&b);
    if (request->warm)
        plan_rest(&b, flags);

    if (b.plan.count == PLAN_STEPS_MAX)
        return err_set(e, -E2BIG, "plan: more than %d steps", PLAN_STEPS_MAX - 1);
    if (arena->failed)
        return err_set(e, -ENOMEM, "plan: out of memory");
    *ret = b.plan;
    return 0;
}

/* Whether a variable makes a program that is started, bash or its loader, read what it names. */
static bool is_read_at_start(const char *variable)
{
    static const char *const names[] = {
        "BASH",    "ENV=", "LD_",  "GLIBC_",    "GCONV_",  "LOCPATH=", "NLSPATH",
        "MALLOC_", "IFS=", "PS4=", "SHELLOPTS", "POSIXLY", "RES_",     "HOSTALIASES"};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

bool plan_can_be_warm(const struct plan_host *host, const struct plan_request *request)
{
    bool in_root = strrchr(request->workspace.path, '/') == request->workspace.path;
    for (size_t i = 0; i < request->variables.count; i++) {
        if (is_read_at_start(request->variables.items[i]))
            return false;
    }
    return request->strength == PLAN_FULL && host->landlock_abi && !request->network &&
           !request->write.count && (request->workspace_held ? !request->script.path : !in_root);
}

struct plan plan_part(const struct plan *plan, size_t from)
{
    struct plan part = {.steps = plan->steps + from};
    while (from + part.count < plan->count && part.steps[part.count++].kind != PLAN_WAIT)
        ;
    return part;
}

int plan_build_head(struct arena *arena, const struct plan_host *host, struct plan *ret,
                    struct err *e)
{
    struct builder b = {.arena = arena, .host = host};
    plan_head(&b, false);
    if (arena->failed || b.plan.count == PLAN_STEPS_MAX)
        return err_set(e, -ENOMEM, "plan: out of memory");
    *ret = b.plan;
    return 0;
}
