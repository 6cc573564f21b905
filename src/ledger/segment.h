/*
 * Segments: files of frames, `segment/N` with N the index of the first record in 20 digits. Eight
 * bytes say what it is, then comes the start frame, then frames to the end, then zeros (allocated
 * ahead) or nothing.
 */
#ifndef NACRE_LEDGER_SEGMENT_H
#define NACRE_LEDGER_SEGMENT_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "ledger/frame.h"
#include "ledger/merkle.h"
#include "ledger/note.h"

#define SEGMENT_DIR   "segment"
#define SEGMENT_MAGIC "nacrelg1"

enum { SEGMENT_HEADER = 8, SEGMENT_NAME_MAX = 40 };

/* An open segment with a window of its bytes. */
struct segment {
    const struct allocator *allocator;
    int fd; /* -1: none */
    uint64_t first;
    unsigned char *window;
    size_t capacity;
    uint64_t at; /* the window's place */
    size_t len;
};

void segment_init(struct segment *s, const struct allocator *allocator);
void segment_close(struct segment *s); /* may be opened again */

/* The path below the ledger's directory. */
void segment_name(uint64_t first, char ret[SEGMENT_NAME_MAX]);

/* Closes what was open. -ENOENT: there is none of that name. */
int segment_open(struct segment *s, int dir, uint64_t first, bool writable, struct err *e);

/*
 * The frame at `offset`: an enum frame_found, or a negative errno. Its payload is in the window,
 * until the next call. `ahead` bytes are read at once where the window must move.
 */
int segment_frame(struct segment *s, uint64_t offset, size_t ahead, struct frame *ret);

/* Loads the window with at least these bytes, as far as there are so many. */
int segment_load(struct segment *s, uint64_t offset, size_t len);

/* What is in the window may be old: look at the file again. */
void segment_forget(struct segment *s);

/* Reads the start: the edge of the tree, and the note if `ret_note` is not NULL. */
int segment_start(struct segment *s, size_t ahead, struct frame *ret_frame, struct merkle *ret_tree,
                  struct note *ret_note, struct err *e);

/*
 * The next offset from `from` on, before `end`, at which a whole frame stands, of the given types
 * (bits 1 << type) and with an index of at least `index`. 0: there is none.
 */
int segment_find_frame(struct segment *s, uint64_t from, uint64_t end, unsigned types,
                       uint64_t index, struct frame *ret, uint64_t *ret_offset);

/* First indices of all segments, in order. Release with alloc_free. */
int segment_list(int dir, const struct allocator *allocator, uint64_t **ret, size_t *ret_count,
                 struct err *e);

#endif
