/*
 * The ledger. In: records, opaque bytes. Out: an append-only log that a stranger can check: nothing
 * in it can be changed, moved, added or cut without trace. docs/ledger.md has the format.
 * This room never knows what a record means.
 *
 *   ledger_open(dir, &options, &l, &e);
 *   ledger_append(l, bytes, len, &place, &e);        durable and signed on return
 *   ledger_close(l);
 *
 * Any number of processes and threads write one ledger at once, without a daemon. Who waits for
 * durability shares one signature and one fdatasync with all others who wait.
 *
 * Invariants:
 *   G1  Nothing is acknowledged before fdatasync has returned for it and for a signed checkpoint
 *       that covers it.
 *   G2  A tree is signed only if it extends the one signed before; never a smaller one.
 *   G3  Below the last durable checkpoint nothing is ever cut, overwritten or repaired. What is
 *       seen not to fit there stops the writer; verification sees everything.
 *   G4  Segments are the truth. Tiles, offsets, the checkpoint file and what the lock file says are
 *       derived, and believed only as far as the segments say the same.
 *   G5  A process that dies anywhere holds up no other and harms no acknowledged record.
 *   G6  After a failed fdatasync a handle does nothing more.
 */
#ifndef NACRE_LEDGER_LEDGER_H
#define NACRE_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

enum { LEDGER_RECORD_MAX = 65535 };

struct ledger;

enum ledger_flags {
    LEDGER_CREATE = 1 << 0,    /* make directory, key and first segment if they are not there */
    LEDGER_READ_ONLY = 1 << 1, /* nothing is written or locked; needs no secret key */
};

/* What the caller should know, though nothing failed. */
enum ledger_notice_kind {
    LEDGER_NOTICE_NONE,
    LEDGER_NOTICE_CUT,   /* an unfinished write was cut from the end: `index`, `bytes` */
    LEDGER_NOTICE_HOOK,  /* a checkpoint could not be sent on */
    LEDGER_NOTICE_TILES, /* tiles could not be written; they are made up for later */
};

struct ledger_notice {
    enum ledger_notice_kind kind;
    uint64_t index;       /* CUT: of the record that would have stood there */
    uint64_t bytes;       /* CUT: how many were cut */
    uint64_t signed_size; /* CUT: a checkpoint that nobody was told of was among them; else 0 */
    const char *text;     /* what happened, for people */
};

/* Where checkpoints are sent, so that a restored old copy of the whole directory can be seen. */
enum ledger_hook_kind {
    LEDGER_HOOK_NONE,
    LEDGER_HOOK_FILE,    /* appended to the file `target` */
    LEDGER_HOOK_COMMAND, /* on standard input of `/bin/sh -c target` */
    LEDGER_HOOK_SYSLOG,  /* one line to the socket `target`, or to /dev/log */
};

struct ledger_hook {
    enum ledger_hook_kind kind;
    const char *target;
    uint64_t every_ms; /* at most so often; 0: with every batch */
};

enum { LEDGER_HOOKS_MAX = 8 };

struct ledger_options {
    unsigned flags;
    const struct allocator *allocator; /* NULL: the C library's */
    const char *origin;                /* name of a new ledger; NULL: made from its key */
    const char *key_path;              /* of the secret key; NULL: `key` in the directory */
    uint64_t segment_bytes;            /* a segment past this is followed by another; 0: 64 MiB */
    const struct ledger_hook *hooks;   /* copied */
    size_t hook_count;
    /* Called without any lock held, so that it may append a record; never from another thread. */
    void (*notice)(void *user, const struct ledger_notice *notice);
    void *user;
};

/* Where a record stands. */
struct ledger_place {
    uint64_t index;
    unsigned char leaf[SHA256_BYTES]; /* RFC 6962: SHA-256 of a byte 0x00 and the record */
};

/* `options` may be NULL. A handle belongs to the process that opened it, not to its children. */
int ledger_open(const char *dir, const struct ledger_options *options, struct ledger **ret,
                struct err *e);
void ledger_close(struct ledger *l);

/* Appends and returns when the record is durable and signed. `ret` may be NULL. */
int ledger_append(struct ledger *l, const void *bytes, size_t len, struct ledger_place *ret,
                  struct err *e);

/* Appends and does not wait; ledger_sync makes everything up to and with `index` durable. */
int ledger_append_later(struct ledger *l, const void *bytes, size_t len, struct ledger_place *ret,
                        struct err *e);
int ledger_sync(struct ledger *l, uint64_t index, struct err *e);

/* Records that are signed; those behind are not shown to readers. */
int ledger_size(struct ledger *l, uint64_t *ret, struct err *e);

/* The first record that is still there; those before it were dropped by ledger_retain. */
int ledger_first(struct ledger *l, uint64_t *ret, struct err *e);

/* The latest checkpoint, a signed note. */
int ledger_checkpoint(struct ledger *l, struct buf *out, struct err *e);

/* The public key as text, without a newline. */
int ledger_key(struct ledger *l, struct buf *out);

/* Puts one record into `out`, which is cleared first. -ERANGE: there is none, or none any more. */
int ledger_read(struct ledger *l, uint64_t index, struct buf *out, struct err *e);

/*
 * One after the other, forward or backward. An iterator belongs to its ledger and to one thread.
 * `next` and `previous` return 1 with a record, 0 at the end (where later records may appear), or a
 * negative errno. The record's bytes are the iterator's, until it is used again.
 */
struct ledger_iterator;
struct ledger_record {
    uint64_t index;
    const unsigned char *bytes;
    size_t len;
};
/* The first record that `next` gives is `index`; that of `previous` is the one before it. */
int ledger_iterate(struct ledger *l, uint64_t index, struct ledger_iterator **ret, struct err *e);
int ledger_iterator_next(struct ledger_iterator *i, struct ledger_record *ret, struct err *e);
int ledger_iterator_previous(struct ledger_iterator *i, struct ledger_record *ret, struct err *e);
void ledger_iterator_free(struct ledger_iterator *i);

/* A proof that the record is in the ledger: the text of a C2SP tlog-proof, for `--proof`. */
int ledger_prove(struct ledger *l, uint64_t index, struct buf *out, struct err *e);

/*
 * Checks such a proof for a record with a public key (as text), with nothing else at hand. What
 * the proof says is in `ret_index` and `ret_size`; they may be NULL. -EBADMSG: it does not hold.
 */
int ledger_check_proof(const char *proof, size_t proof_len, const char *key, size_t key_len,
                       const void *record, size_t record_len, uint64_t *ret_index,
                       uint64_t *ret_size, struct err *e);

/* Brings the files that others read (tiles, `checkpoint`) up to the latest checkpoint. */
enum ledger_publish_flags {
    LEDGER_PUBLISH_ENTRIES = 1 << 0, /* the records too, as entry bundles: takes their size again */
    LEDGER_PUBLISH_ANEW = 1 << 1,    /* heals: makes everything again for the records there are */
};
int ledger_publish(struct ledger *l, unsigned flags, struct err *e);

/*
 * Drops old segments while all together are larger than `max_bytes`, and those whose last record is
 * older than `max_age_s`; 0: no such limit. The last segment stays. Hashes stay, so every proof
 * holds. `ret_first` (may be NULL) is the first record that is left.
 */
int ledger_retain(struct ledger *l, uint64_t max_bytes, uint64_t max_age_s, uint64_t *ret_first,
                  struct err *e);

/* Sends the latest checkpoint to all hooks now. Failures are notices. */
int ledger_send(struct ledger *l, struct err *e);

/*
 * Verification. Reads only, takes no lock, needs no secret.
 */
struct ledger_verify_options {
    const struct allocator *allocator;
    /* Checkpoints that were kept elsewhere, as text, one after the other; all must fit. */
    const char *checkpoints;
    size_t checkpoints_len;
    /* The public key, kept elsewhere, as text; NULL: the ledger's own `key.pub`, which whoever
     * changed the ledger could have changed as well. */
    const char *key;
    size_t key_len;
    bool since;          /* only from the latest of `checkpoints` on */
    bool all_signatures; /* of every checkpoint; else of those on which something rests */
    /* Called now and then; a return value other than 0 ends the verification with it. */
    int (*progress)(void *user, uint64_t bytes_done, uint64_t bytes_all);
    void *user;
};

enum { LEDGER_DAMAGE_TEXT = 256, LEDGER_DAMAGES_MAX = 64 };

struct ledger_damage {
    bool located;     /* segment, offset and index say where */
    uint64_t index;   /* the first entry that is touched by it */
    uint64_t segment; /* index of the segment's first record, which is its name */
    uint64_t offset;  /* in the segment's file */
    char text[LEDGER_DAMAGE_TEXT];
};

struct ledger_report {
    bool good; /* no damage */
    bool key_was_given;
    char origin[129];
    uint64_t size;  /* entries that are signed and verified */
    uint64_t first; /* first entry whose record is there; those before it are hashes only */
    uint64_t since; /* first entry that was looked at */
    unsigned char root[SHA256_BYTES];
    uint64_t segments, checkpoints, signatures, bytes;
    uint64_t unsigned_records; /* whole, behind the last checkpoint: a writer was about to sign */
    uint64_t torn_bytes;       /* behind those: of a write that did not end */
    size_t damage_count;       /* found; at most LEDGER_DAMAGES_MAX of them are kept */
    struct ledger_damage damages[LEDGER_DAMAGES_MAX];
};

/* 0 when the ledger could be looked at: `ret->good` is the answer. */
int ledger_verify(const char *dir, const struct ledger_verify_options *options,
                  struct ledger_report *ret, struct err *e);

#endif
