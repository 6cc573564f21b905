/*
 * The plan: everything that makes one sandbox, as data, in the order in which it is done.
 *
 * In: what the caller asked for and what the host has. Out: an array of steps that can be printed,
 * compared and sent to the launcher. This room never touches the kernel: what the file system says
 * is gathered before and handed in.
 */
#ifndef NACRE_PLAN_PLAN_H
#define NACRE_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum plan_kind {
    PLAN_NOTHING,  /* never valid: a zeroed step does nothing and is refused */
    PLAN_STRENGTH, /* text: full, or landlock where no namespaces are to be had */
    PLAN_UNSHARE,  /* text: the namespace to leave */
    PLAN_IDENTITY, /* number: uid and gid that the inside sees */
    PLAN_BUDGET,   /* text: what the whole tree may use; number: how much of it */
    PLAN_HOSTNAME, /* text */
    PLAN_SYSCTL,   /* path below /proc/sys, of the new namespaces; text: value */
    PLAN_ROOT,     /* number: bytes and inodes of the tmpfs that is the new root */
    PLAN_SPACE,    /* number: bytes and inodes that it has from here on */
    PLAN_DIR,      /* path; number: mode */
    PLAN_FILE,     /* path, text; number: mode */
    PLAN_LINK,     /* path, text: where it points. If there: nothing is wrong with one that is */
    PLAN_SCRATCH,  /* path; number: mode. Writable part of the root's tmpfs */
    PLAN_BIND,     /* path, text: source on the host; number: device and inode it must have, or 0 */
    PLAN_LAYER,  /* path of a bind, text: directory of the host. What is written there goes there */
    PLAN_STORE,  /* text: directory of the host below which the layer lies that is laid later */
    PLAN_PIN,    /* path: mounted on itself, so that it cannot be moved away */
    PLAN_HIDE,   /* path: covered by something empty that cannot be opened */
    PLAN_PROC,   /* path */
    PLAN_MOUNT,  /* path, text: devpts or mqueue. A file system of the new namespaces */
    PLAN_LIMIT,  /* text: name of the resource; number: value */
    PLAN_UMASK,  /* number: mask */
    PLAN_STEADY, /* text: what is always the same: addresses, in place of random ones */
    PLAN_LANDLOCK, /* number: version of its interface that is used */
    PLAN_ACCESS,   /* path, text: read or write. What Landlock leaves open; the rest is closed */
    PLAN_SCOPE,    /* text: what Landlock keeps among the inside: abstract sockets, signals */
    PLAN_FILTER,   /* text: name of a rule of the system call filter */
    PLAN_FD,       /* text: what it is; number: descriptor that the program keeps */
    PLAN_ENV,      /* text: NAME=VALUE */
    PLAN_CWD,      /* path */
    PLAN_WORD,     /* text: of a plain command, which is executed if PATH finds it */
    PLAN_PROGRAM,  /* path of the file to execute otherwise */
    PLAN_ARG,      /* text */
    PLAN_WAIT,     /* text: until what. The program is started before, and begins after the rest */
    PLAN_KINDS
};

enum plan_flag {
    PLAN_READ_ONLY = 1 << 0,
    PLAN_DEVICES = 1 << 1,  /* device nodes work there */
    PLAN_OWNED = 1 << 2,    /* the source's owner appears as the inside's user */
    PLAN_IF_THERE = 1 << 3, /* skipped when the path does not exist inside; nothing is made */
    PLAN_HELD = 1 << 4,     /* the source is a mount that the caller holds, not a path */
    PLAN_WATCHED = 1 << 5,  /* what is written there counts as disk */
    PLAN_ESCAPED = 1 << 6,  /* of a file: \0 in its text is a NUL, and \\ a backslash */
    PLAN_FLAGS_ALL = (1 << 7) - 1,
};

struct plan_step {
    enum plan_kind kind;
    uint32_t flags;
    uint64_t number[2];
    const char *path; /* inside the sandbox, absolute; NULL where the kind has none */
    const char *text;
};

struct plan {
    struct plan_step *steps;
    size_t count;
};

/* Whether a step needs a mount of the host's, which root opens for the inside. */
static inline bool plan_needs_tree(const struct plan_step *step)
{
    return step->kind == PLAN_BIND || step->kind == PLAN_LAYER;
}

/* What a kind is called and which of a step's fields it uses; indexed by kind. */
struct plan_kind_info {
    const char *name;
    bool has_path;
    const char *text;      /* JSON name of the text, or NULL */
    const char *number[2]; /* JSON names of the numbers, or NULL */
    bool octal;            /* people read the number so */
};
extern const struct plan_kind_info plan_kinds[PLAN_KINDS];

/* The uid and gid that every sandboxed program sees, and its name for them. */
enum { PLAN_UID = 1000, PLAN_GID = 1000 };
#define PLAN_USER "agent"

/* Where a text that is too long for an argument lies inside. */
#define PLAN_TEXT_PATH "/etc/nacre/text"

/* Where scripts lie inside, and what a program that is made of one is called before its name. */
#define PLAN_SCRIPTS     "/etc/nacre"
#define PLAN_SCRIPTS_OUT "/tmp"

/* Where a program that was executed ahead waits for the word to begin. */
enum { PLAN_GATE_FD = 9 };
/* What the descriptor is for to which a session's state is written. */
#define PLAN_SESSION "session"
/* What standard error is for where it is standard output once more. */
#define PLAN_COMBINED "stdout too"

/* --- what the host has -------------------------------------------------------------------- */

/* System paths that may be shown, if the host has them. The engine looks; ends with NULL. */
extern const char *const plan_system_paths[];

/* A small file that everybody may read is shown as a copy, which costs less than a mount. */
enum plan_host_type { PLAN_HOST_PLACE, PLAN_HOST_LINK, PLAN_HOST_COPY };

struct plan_host_entry {
    const char *path;
    enum plan_host_type type;
    const char *target; /* of a link, as it is written; of a copy, its content */
};

struct plan_host {
    const struct plan_host_entry *entries;
    size_t count;
    const char *bash;          /* path of bash inside: /bin/bash or /usr/bin/bash */
    unsigned landlock_abi;     /* 0: none */
    bool counts_per_namespace; /* RLIMIT_NPROC is a budget of the box, not of the user */
    unsigned inotify_instances, inotify_watches; /* that a user may have; 0: not known */
};

/* --- what was asked ----------------------------------------------------------------------- */

enum plan_strength { PLAN_FULL, PLAN_LANDLOCK_ONLY };

/* A path of the host that is shown at its own place, and which one it is. */
struct plan_place {
    const char *path; /* canonical */
    uint64_t device, inode;
    const char
        *target; /* not NULL: a link that points there is made instead, if nothing is there */
    bool owned;  /* its owner appears as the inside's user */
    const char *source; /* shown in its place; NULL: it is itself */
    const char *layer; /* directory of the host that takes what is written; NULL: the path itself */
};

struct plan_places {
    const struct plan_place *items;
    size_t count;
};

struct plan_texts {
    const char *const *items;
    size_t count;
};

/* For the whole tree; 0: no limit, but for what the kernel has. */
struct plan_limits {
    uint64_t timeout_ms, cpu_ms, memory_bytes, processes, files, disk_bytes;
};

/* A file of the box's own that nobody there can write to, but in landlock strength. */
struct plan_script {
    const char *path; /* NULL: there is none */
    const char *bytes;
    size_t len;
};

struct plan_request {
    enum plan_strength strength;
    struct plan_place workspace;
    bool workspace_read_only;
    bool workspace_held; /* in memory: the caller holds its mount */
    const char *cwd;     /* canonical, the workspace or below it */
    const char *home;    /* private, at the caller's own path; NULL: any */
    const char *scratch; /* landlock strength: a private directory of the host for all scratch */
    uint32_t uid, gid;   /* landlock strength: who the program is */
    struct plan_places read, write;
    struct plan_texts hide, protect; /* canonical, existing, below something that is shown */
    const char *git_config;          /* content of ~/.gitconfig inside; NULL: none */
    bool network;                    /* share the host's */
    const char *resolv_conf;         /* canonical path of the host's, with the network; NULL */
    const char *text;                /* for bash */
    struct plan_script script;       /* that the text runs */
    struct plan_texts words; /* of a plain command that is no builtin of bash; none: it is not */
    const char *search_path; /* PATH */
    struct plan_texts variables; /* NAME=VALUE, besides what every box has */
    uint32_t session_fd;         /* where the program writes a session's state; 0: nowhere */
    bool combined;               /* what goes to standard error goes to standard output */
    bool deterministic;          /* what differs from run to run is fixed */
    unsigned umask;
    struct plan_limits limits;
    bool warm;  /* all that can be is built before it is known what is to run, and where */
    bool input; /* warm: standard input is the caller's, and not /dev/null */
};

/* Builds the plan in the arena. */
int plan_build(struct arena *arena, const struct plan_host *host,
               const struct plan_request *request, struct plan *ret, struct err *e);

/*
 * The steps with which nearly every plan begins, for they depend on the host alone: the launcher
 * may have them before there is a request. A plan that begins otherwise is built from the start.
 */
int plan_build_head(struct arena *arena, const struct plan_host *host, struct plan *ret,
                    struct err *e);

/*
 * Whether a warm plan can be made for this request. Its program is a bash that was executed ahead
 * and waits for its text, so what it shows later must fit what it was walled in with: a workspace
 * whose parent is not the root, and nothing else that is written to. And it must be nobody's but
 * the system's until it begins, since process 1 has its rights until then: no variable may make it
 * read files of somebody else's, and Landlock must be there.
 */
bool plan_can_be_warm(const struct plan_host *host, const struct plan_request *request);

/*
 * A warm plan is built in parts, each of which ends with PLAN_WAIT: what can be built ahead, then
 * the workspace, then the text. This is the part that begins with step `from`; with it, the plan
 * has been built up to from + count.
 */
struct plan plan_part(const struct plan *plan, size_t from);

/* Whether `plan` begins with all steps of `head`. */
bool plan_begins_with(const struct plan *plan, const struct plan *head);

/*
 * Whether `path` may be a workspace: not the root, not a system directory. Sets the reason.
 */
int plan_check_workspace(const char *path, struct err *e);

/* --- the plan as bytes -------------------------------------------------------------------- */

enum { PLAN_STEPS_MAX = 2048, PLAN_BYTES_MAX = 8 << 20 };

int plan_encode(const struct plan *plan, struct buf *out);

/*
 * Reads a plan back. The steps point into `bytes`. Everything is checked: lengths, kinds, flags,
 * texts without NUL, paths absolute and without "..".
 */
int plan_decode(const char *bytes, size_t len, struct plan_step *steps, size_t max,
                struct plan *ret, struct err *e);

/* --- the plan for people and programs ----------------------------------------------------- */

void plan_write_json(const struct plan *plan, struct json *j);

/* The names of a step's flags, each behind a blank. */
void plan_append_flags(const struct plan_step *step, struct buf *out);

#endif
