/*
 * Checkpoints as signed notes: what C2SP calls tlog-checkpoint and signed-note, with Ed25519.
 *
 *   ORIGIN                    which ledger
 *   SIZE                      entries in the tree, decimal
 *   ROOT                      base64 of the tree's hash
 *                             an empty line
 *   — NAME SIGNATURE          base64 of the key's id (4 bytes) and the signature of the lines above
 *
 * A key as text is NAME+ID+KEY: the id in hexadecimal, the key in base64 behind a byte 0x01. A
 * secret one has PRIVATE+KEY+ in front.
 */
#ifndef NACRE_LEDGER_NOTE_H
#define NACRE_LEDGER_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/merkle.h"

enum {
    NOTE_NAME_MAX = 128,
    NOTE_MAX = 512,          /* of the notes that are written here: one signature */
    NOTE_READ_MAX = 1 << 16, /* of the notes that are read: others may have signed too */
    NOTE_KEY_BYTES = 32,     /* public key, or the seed of a secret one */
    NOTE_SECRET_BYTES = 64,  /* seed and public key, as libsodium wants them */
    NOTE_SIGNATURE_BYTES = 64,
    NOTE_KEY_TEXT_MAX = NOTE_NAME_MAX + 96,
};

/* A public key with its name. */
struct note_key {
    char name[NOTE_NAME_MAX + 1];
    unsigned char id[4];
    unsigned char key[NOTE_KEY_BYTES];
};

struct note_signer {
    struct note_key public;
    unsigned char secret[NOTE_SECRET_BYTES];
};

/* What a note says. Pointers lead into the text that was read. */
struct note {
    const char *origin;
    size_t origin_len;
    uint64_t size;
    struct merkle_hash root;
    const char *text; /* what is signed: three lines with their newlines */
    size_t text_len;
    const char *signatures;
    size_t signatures_len;
    size_t len; /* of all */
};

/* The id that belongs to name and key. */
void note_key_id(struct note_key *key);

/* Whether a name may stand in a note: printable ASCII without space and plus. */
bool note_name_valid(const char *name, size_t len);

int note_key_write(const struct note_key *key, struct buf *out);
int note_key_read(const char *text, size_t len, struct note_key *ret, struct err *e);

/*
 * The file of a secret key: a line for the secret, one for the public key, so that using it costs
 * no derivation.
 */
int note_signer_write(const struct note_signer *signer, struct buf *out);
int note_signer_read(const char *text, size_t len, struct note_signer *ret, struct err *e);
/* From a seed of NOTE_KEY_BYTES random bytes; the name must be valid. */
void note_signer_make(const char *name, const unsigned char *seed, struct note_signer *ret);

/* Writes the signed note for a tree; its origin is the key's name. Returns its length. */
size_t note_write(const struct note_signer *signer, uint64_t size, const struct merkle_hash *root,
                  char ret_text[NOTE_MAX]);

/* Reads the first note of `text`; more may follow. Believes nothing: see note_check. */
int note_read(const char *text, size_t len, struct note *ret, struct err *e);

/* Whether the note is of this key's ledger and signed with it. */
int note_check(const struct note *note, const struct note_key *key, struct err *e);
/* The same but for the signature itself: origin, and a signature line with the key's name and id.
 */
int note_check_name(const struct note *note, const struct note_key *key, struct err *e);

#endif
