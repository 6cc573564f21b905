/*
 * What a run printed, for the record: redacted while it comes in, in its order, within a bound.
 *
 * In:    pieces of both streams. Out: frames (history/object.h), the hash of each stream as it is
 *        kept, and how many secrets were removed.
 * Never: holds more than twice its bound, or a byte that the redactor has not let go.
 */
#ifndef NACRE_ENGINE_TRANSCRIPT_H
#define NACRE_ENGINE_TRANSCRIPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "redact/redact.h"
#include "run/run.h"

struct transcript;

/* A piece as it came in. Its bytes follow when the redactor lets them go. */
struct transcript_piece {
    enum run_stream stream;
    uint64_t ms;  /* since the start */
    uint64_t end; /* offset in its stream behind its last byte */
    struct buf bytes;
};

/* One stream of it, as its redactor's sink sees it. */
struct transcript_stream {
    struct transcript *whole;
    enum run_stream number;
    struct redact_stream *redact;
    uint64_t came; /* bytes */
    bool over;
};

enum { TRANSCRIPT_PIECES = 256 };

struct transcript {
    const struct allocator *allocator;
    struct transcript_stream streams[RUN_STREAMS];
    struct transcript_piece pieces[TRANSCRIPT_PIECES]; /* a ring of those that are not whole yet */
    size_t first, count;
    struct buf head, tail; /* frames; the tail begins when the head is full */
    size_t half_bytes;     /* as much as each of them holds */
    uint64_t start_ms;
    bool omitted; /* frames between head and tail are gone */
    /* What is let go goes to the caller, too, where he is to see no secrets; may be NULL. */
    int (*pass_on)(void *user, enum run_stream stream, const char *bytes, size_t len);
    void *user;
};

int transcript_begin(struct transcript *t, const struct redactor *redactor,
                     const struct allocator *allocator, size_t limit_bytes, struct err *e);
int transcript_add(struct transcript *t, enum run_stream stream, const char *bytes, size_t len,
                   struct err *e);
int transcript_finish(struct transcript *t, enum run_stream stream, struct err *e);

/* The frames, and the SHA-256 of each stream's bytes in them. Call when both streams are over. */
int transcript_take(struct transcript *t, struct buf *out,
                    unsigned char ret_hashes[RUN_STREAMS][SHA256_BYTES]);
uint64_t transcript_redactions(const struct transcript *t);
void transcript_release(struct transcript *t);

#endif
