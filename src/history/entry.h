/*
 * Entries: what a record of the ledger says. One is written for every decision that a run met, for
 * what became of it, and for whatever was done about it later; docs/records.md has the form.
 *
 * In:    a struct with texts that are redacted already.
 * Out:   canonical JSON (keys in order, no blanks) of at most ENTRY_BYTES_MAX bytes; and back.
 * Never: redacts, decides, or touches the ledger.
 *
 * Texts that are too long are cut at a character, and the entry has their full length and the
 * SHA-256 of all of it beside them; lists that are too long are cut likewise and say how many there
 * were. Nothing that a text holds can be taken for the entry's own form.
 */
#ifndef NACRE_HISTORY_ENTRY_H
#define NACRE_HISTORY_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

enum {
    ENTRY_BYTES_MAX = 60 << 10,
    ENTRY_VERSION = 1,
    ENTRY_FRAMES_MAX = 8 << 10, /* frames up to this are never cut; longer ones are an object */
    ENTRY_CHANGES_MAX = 256,    /* more changes than these are kept as an object besides */
};

enum entry_kind {
    ENTRY_NONE,     /* never written */
    ENTRY_INTENT,   /* a run is about to begin; without a result behind it, it was cut off */
    ENTRY_RESULT,   /* what became of it; also of one that was refused, and so has no intent */
    ENTRY_COMMIT,   /* changes that were held became real */
    ENTRY_DISCARD,  /* they were thrown away */
    ENTRY_UNDO,     /* what was real was taken back */
    ENTRY_REDO,     /* and put back */
    ENTRY_POLICY,   /* a mandate_hash that was not met before, and the policy's text as an object */
    ENTRY_RECOVERY, /* a crash was mended: of the ledger itself, or of a run's changes */
    ENTRY_ANSWER,   /* an answer to a question: `status` is yes, no, accept, reject, escalate */
    ENTRY_QUESTION, /* somebody was asked; its id is the run's */
    ENTRY_USED,     /* an answer was used; `detail` has the run that did */
    ENTRY_EXPIRED,  /* a question went without one; `status` is expired or withdrawn */
    ENTRY_KINDS
};
extern const char *const entry_kind_names[ENTRY_KINDS];

/* A text of any length. Written in full if it is short, else its head. */
struct entry_text {
    const char *bytes; /* NULL: there is none */
    size_t len;
    /* Read from an entry that has the head only; else 0 and empty. */
    uint64_t whole_len;
    char whole_hash[SHA256_HEX + 1];
};

/* One stream of output, redacted. */
struct entry_stream {
    uint64_t bytes;                   /* that the command printed, before redaction */
    bool truncated;                   /* not all of it was kept */
    unsigned char hash[SHA256_BYTES]; /* of what was kept, redacted */
};

/* What was printed, in its order: see object.h for the form of frames. */
struct entry_output {
    bool known; /* the run was started */
    struct entry_stream stdout_stream, stderr_stream;
    struct entry_text frames; /* short ones stand in the entry itself; NULL: none, or an object */
    char object[SHA256_HEX + 1]; /* name of the object that holds the frames; empty: none */
};

enum entry_change_kind {
    ENTRY_CREATED,
    ENTRY_MODIFIED,
    ENTRY_DELETED,
    ENTRY_RENAMED,
    ENTRY_TOUCHED,
    ENTRY_CHANGE_KINDS
};
extern const char *const entry_change_kind_names[ENTRY_CHANGE_KINDS];

struct entry_change {
    enum entry_change_kind kind;
    const char *path; /* any bytes; JSON has {"base64": …} for what is not UTF-8 */
    const char *to;   /* renamed: its new path */
};

struct entry_changes {
    bool known;
    uint64_t counts[ENTRY_CHANGE_KINDS];
    uint64_t bytes;
    const struct entry_change *items; /* all, or the first of them */
    size_t count;
    char hash[SHA256_HEX + 1]; /* of the whole list, where it is not all here; else empty */
};

struct entry_program {
    const char *const *argv;
    size_t argc;
    uint64_t argc_total; /* where these are the first of more; else 0 */
    int exit_code;       /* -1: not known */
};

/* A script that the command runs. Its bytes, redacted, are an object. */
struct entry_script {
    const char *language;        /* NULL: there is none */
    uint64_t bytes;              /* before redaction */
    bool redacted;               /* something was taken out */
    char object[SHA256_HEX + 1]; /* its name; empty: it is not kept */
    const char *const *args;
    size_t arg_count;
    uint64_t arg_total; /* where these are the first of more; else 0 */
};

struct entry_reason {
    const char *rule, *reason;
};

/* Absent texts are NULL or empty, absent numbers as their comments say; none of them is written. */
struct entry {
    enum entry_kind kind;
    const char *time; /* RFC 3339, UTC */
    const char *id;   /* of the run */
    const char *agent, *profile, *job, *session;
    const char *workspace, *working_dir;
    const char *user;            /* who called nacre */
    struct entry_text command;   /* as given */
    struct entry_text canonical; /* as run; NULL where it is the same text */
    struct entry_script script;
    const char *status;  /* as in the result */
    const char *verdict; /* allow, deny, confirm */
    const char *rule;
    const struct entry_reason *reasons;
    size_t reason_count;
    uint64_t reason_total; /* this and its like: where the list has only the first; else 0 */
    const char *mandate_hash;
    const char *confirmed_by; /* who said yes to a question: "terminal", a name */
    const char *strength;
    bool network; /* it had the host's network */
    bool has_exit_code;
    int exit_code;
    uint64_t duration_ms;
    bool has_resources;
    uint64_t cpu_ms, memory_peak_bytes, processes_peak, bytes_written;
    const char *limit; /* name of the one that was passed */
    const struct entry_program *executed;
    size_t executed_count;
    uint64_t executed_total;
    const char *fs_hash_before, *fs_hash_after;
    struct entry_changes changes;
    bool has_reversible, reversible;
    struct entry_output output;
    uint64_t redactions;
    const char *const *warnings;
    size_t warning_count;
    uint64_t warning_total;
    const char *error;
    bool has_intent;
    uint64_t intent;    /* RESULT: index of its ENTRY_INTENT */
    const char *object; /* POLICY: name of the object with its text */
    const char *detail; /* RECOVERY, UNDO …: what happened, for people */
};

/* Appends the canonical JSON. -E2BIG never: it is cut to fit. */
int entry_write(const struct entry *entry, struct buf *out, struct err *e);

/*
 * Appends the canonical JSON of all changes, whose SHA-256 is the `hash` of a list that was cut.
 * Kept as an object (ENTRY_CHANGES_MAX), it has that for its name, and is found by it.
 */
int entry_write_changes(const struct entry_changes *changes, struct buf *out, struct err *e);

/* Reads such an object: `items`, `count` and `counts` are set. */
int entry_read_changes(struct arena *arena, const void *bytes, size_t len,
                       struct entry_changes *ret, struct err *e);

/*
 * Reads one back; everything is in the arena. Unknown keys are passed over, since later versions
 * may have more. -EBADMSG: it is no entry.
 */
int entry_read(struct arena *arena, const void *bytes, size_t len, struct entry *ret,
               struct err *e);

#endif
