/*
 * The ledger's decoders: notes, keys, proofs, frames and whole segments. The first byte says which.
 * Whatever is accepted must have exactly one spelling: written again it is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/frame.h"
#include "ledger/ledger.h"
#include "ledger/note.h"
#include "ledger/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_note(const char *text, size_t len, const struct note_signer *signer)
{
    struct note note;
    char again[NOTE_MAX];
    if (note_read(text, len, &note, NULL) < 0)
        return;
    if (note.len > len || note.text_len > note.len || note.size >> MERKLE_LEVELS)
        abort();
    /* What this key has signed can only be what it writes: Ed25519 is deterministic. */
    if (note_check(&note, &signer->public, NULL) == 0) {
        note_write(signer, note.size, &note.root, again);
        if (memcmp(again, note.text, note.text_len) != 0)
            abort();
    }
}

static void try_keys(const char *text, size_t len)
{
    struct note_key key;
    struct note_signer signer;
    struct buf out;
    buf_init(&out, &allocator_libc, 4096);
    if (note_key_read(text, len, &key, NULL) == 0) {
        note_key_write(&key, &out);
        if (out.len > len || memcmp(out.data, text, out.len) != 0)
            abort();
    }
    buf_clear(&out);
    if (note_signer_read(text, len, &signer, NULL) == 0) {
        note_signer_write(&signer, &out);
        if (out.len < len || memcmp(out.data, text, len) != 0)
            abort();
    }
    buf_release(&out);
}

static void try_frames(const uint8_t *data, size_t size)
{
    struct frame f;
    struct frame_chain chain = {0};
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 20);
    for (size_t at = 0; at < size && frame_read(data + at, size - at, &f) == FRAME_FOUND_WHOLE;) {
        if (frame_bytes(&f) > size - at)
            abort();
        chain = (struct frame_chain){.sum = f.before, .bytes = f.back};
        buf_clear(&out);
        frame_write(&out, &chain, f.type, f.index, f.payload, f.length);
        if (out.len != frame_bytes(&f) || memcmp(out.data, data + at, out.len) != 0)
            abort();
        at += frame_bytes(&f);
    }
    buf_release(&out);
}

static void try_segment(const uint8_t *data, size_t size)
{
    struct segment s;
    struct frame f;
    struct merkle tree;
    struct note note;
    uint64_t at = 0;
    segment_init(&s, &allocator_libc);
    s.fd = fd_sealed_memory("segment", data, size);
    if (s.fd < 0)
        abort();
    segment_start(&s, 64, &f, &tree, &note, NULL);
    for (uint64_t from = 0; segment_find_frame(&s, from, size, 0xE, 0, &f, &at) == 1;
         from = at + 1) {
        if (at < from || at + frame_bytes(&f) > size)
            abort();
    }
    for (at = 0; at < size && segment_frame(&s, at, 64, &f) == FRAME_FOUND_WHOLE;)
        at += frame_bytes(&f);
    segment_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct note_signer signer;
    static char key[NOTE_KEY_TEXT_MAX];
    static size_t key_len;
    if (size == 0)
        return 0;
    if (!signer.public.name[0]) {
        struct buf out;
        static const unsigned char seed[NOTE_KEY_BYTES] = {7};
        note_signer_make("fuzz/ledger", seed, &signer);
        buf_init(&out, &allocator_libc, sizeof(key));
        note_key_write(&signer.public, &out);
        memcpy(key, out.data, out.len);
        key_len = out.len;
        buf_release(&out);
    }
    uint8_t which = data[0];
    const char *text = (const char *)data + 1;
    size--;
    data++;
    switch (which) {
    case 'n':
        try_note(text, size, &signer);
        break;
    case 'k':
        try_keys(text, size);
        break;
    case 'p':
        ledger_check_proof(text, size, key, key_len, "record", 6, NULL, NULL, NULL);
        break;
    case 'f':
        try_frames(data, size);
        break;
    case 's':
        try_segment(data, size);
        break;
    default:
        break;
    }
    return 0;
}
