/* The ledger's parts: sums, base64, the Merkle tree, notes, frames. */
#include <errno.h>
#include <stdlib.h>

#include "ledger/base64.h"
#include "ledger/crc32c.h"
#include "ledger/frame.h"
#include "ledger/merkle.h"
#include "ledger/note.h"
#include "tap.h"

static void test_crc(void)
{
    unsigned char bytes[300];
    bool same = true;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    tap_number(crc32c(0, "123456789", 9), 0xE3069283, "crc32c: the check value");
    tap_number(crc32c_portable(0, "123456789", 9), 0xE3069283, "crc32c: the same by table");
    for (size_t i = 0; i <= sizeof(bytes); i++)
        same &= crc32c(0, bytes, i) == crc32c_portable(0, bytes, i) &&
                crc32c(crc32c(0, bytes, i), bytes + i, sizeof(bytes) - i) ==
                    crc32c(0, bytes, sizeof(bytes));
    tap_check(same, "crc32c: both ways agree, in any two parts");
}

static void test_base64(void)
{
    char text[16] = {0};
    unsigned char bytes[8];
    base64_write("foobar", 6, text);
    tap_text(text, "Zm9vYmFy", "base64: written");
    memset(text, 0, sizeof(text));
    base64_write("foob", 4, text);
    tap_text(text, "Zm9vYg==", "base64: written with padding");
    tap_check(base64_read("Zm9vYg==", 8, bytes, 4) == 0 && memcmp(bytes, "foob", 4) == 0,
              "base64: read");
    tap_number(base64_read("Zm9vYh==", 8, bytes, 4), -EBADMSG, "base64: bits too many");
    tap_number(base64_read("Zm9vYg=", 7, bytes, 4), -EBADMSG, "base64: short");
    tap_number(base64_read("Zm9vYg==", 8, bytes, 5), -EBADMSG, "base64: another length");
    tap_number(base64_read("Zm9v\nmFy", 8, bytes, 6), -EBADMSG, "base64: a newline");
    tap_number(base64_read("Zm9v\0mFy", 8, bytes, 6), -EBADMSG, "base64: a NUL");
}

/* The tree as RFC 6962 defines it, by recursion. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void naive(const struct merkle_hash *leaves, size_t count, struct merkle_hash *ret)
{
    if (count == 1) {
        *ret = leaves[0];
        return;
    }
    size_t half = 1;
    while (2 * half < count)
        half *= 2;
    struct merkle_hash left, right;
    naive(leaves, half, &left);
    naive(leaves + half, count - half, &right);
    merkle_node(&left, &right, ret);
}

static int naive_source(void *user, unsigned level, uint64_t number, struct merkle_hash *ret)
{
    const struct merkle_hash *leaves = user;
    naive(leaves + (number << level), (size_t)1 << level, ret);
    return 0;
}

static void test_merkle(void)
{
    enum { LEAVES = 130 };
    struct merkle_hash leaves[LEAVES], is, should, proof[MERKLE_PROOF_MAX];
    struct merkle tree = {0}, again;
    struct merkle_hash edge[MERKLE_LEVELS];
    char hex[SHA256_HEX + 1];
    size_t count;
    bool roots = true, edges = true, proofs = true, wrong = false;

    merkle_root(&tree, &is);
    sha256_hex(is.bytes, hex);
    tap_text(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
             "merkle: the empty tree");
    merkle_leaf("", 0, &is);
    sha256_hex(is.bytes, hex);
    tap_text(hex, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
             "merkle: the empty leaf");
    for (size_t n = 0; n < LEAVES; n++) {
        merkle_leaf(&n, sizeof(n), &leaves[n]);
        merkle_add(&tree, &leaves[n]);
        merkle_root(&tree, &is);
        naive(leaves, n + 1, &should);
        roots &= merkle_same(&is, &should);
        merkle_edge_save(&tree, edge);
        merkle_edge_load(tree.size, edge, &again);
        merkle_root(&again, &is);
        edges &= merkle_same(&is, &should);
        for (size_t i = 0; i <= n; i++) {
            if (merkle_prove(n + 1, i, naive_source, leaves, proof, &count) < 0 ||
                !merkle_includes(&should, n + 1, i, &leaves[i], proof, count))
                proofs = false;
            /* Neither for another place, another leaf, another size, nor shortened. */
            wrong |= merkle_includes(&should, n + 1, i + 1, &leaves[i], proof, count);
            wrong |= merkle_includes(&should, n + 1, i, &leaves[(i + 1) % LEAVES], proof, count);
            wrong |= count && merkle_includes(&should, n + 1, i, &leaves[i], proof, count - 1);
            wrong |= count && merkle_includes(&should, n + 1, i, &leaves[i], proof + 1, count - 1);
        }
    }
    tap_check(roots, "merkle: roots of all sizes up to %d", LEAVES);
    tap_check(edges, "merkle: and from their edges");
    tap_check(proofs, "merkle: every proof holds");
    tap_check(!wrong, "merkle: none for anything else");
    tap_number(merkle_prove(4, 4, naive_source, leaves, proof, &count), -ERANGE,
               "merkle: no proof behind the end");
}

static void test_notes(void)
{
    /* The example of golang.org/x/mod/sumdb/note. */
    static const char go_key[] =
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    struct note_key key;
    struct err e = {0};
    tap_check(note_key_read(go_key, strlen(go_key), &key, &e) == 0, "note: a key made by Go");
    tap_number(note_key_read(go_key, strlen(go_key) - 1, &key, NULL), -EBADMSG, "note: cut");

    unsigned char seed[NOTE_KEY_BYTES] = {1, 2, 3};
    struct note_signer signer, loaded;
    struct merkle_hash root = {{4, 5, 6}};
    struct note note;
    char text[NOTE_MAX + 1] = {0};
    struct buf file;
    note_signer_make("example.org/ledger", seed, &signer);
    size_t len = note_write(&signer, 1234567, &root, text);
    tap_check(note_read(text, len, &note, &e) == 0 && note.size == 1234567 && note.len == len &&
                  merkle_same(&note.root, &root),
              "note: written and read");
    tap_check(note_check(&note, &signer.public, &e) == 0, "note: its signature holds");
    bool any = false;
    for (size_t i = 0; i < len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            any |= note_read(text, len, &note, NULL) == 0 && note.len == len &&
                   note_check(&note, &signer.public, NULL) == 0;
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    }
    tap_check(!any, "note: no bit of it can be changed");
    buf_init(&file, &allocator_libc, 4096);
    note_signer_write(&signer, &file);
    tap_check(note_signer_read(file.data, file.len, &loaded, &e) == 0 &&
                  memcmp(&loaded, &signer, sizeof(signer)) == 0,
              "note: the secret key's file");
    any = false;
    for (size_t i = 0; i < file.len; i++) {
        size_t name = strlen("PRIVATE+KEY+example.org/ledger+00000000+");
        /* The secret itself may be any: its signatures would not hold. */
        if (i > name && i < name + 44)
            continue;
        file.data[i] ^= 1;
        any |= note_signer_read(file.data, file.len, &loaded, NULL) == 0;
        file.data[i] ^= 1;
    }
    tap_check(!any, "note: a changed file of a key is no key");
    /* A note with signatures of others: theirs are passed over, ours is found. */
    buf_clear(&file);
    note_write(&signer, 7, &root, text);
    const char *behind = strstr(text, "\n\n") + 2;
    buf_append(&file, text, (size_t)(behind - text));
    buf_append_text(&file, "\xE2\x80\x94 witness.example AAAAAAAA\n");
    buf_append_text(&file, behind);
    tap_check(note_read(file.data, file.len, &note, &e) == 0 && note.len == file.len &&
                  note_check(&note, &signer.public, &e) == 0,
              "note: signed by others too");
    tap_check(!note_name_valid("a b", 3) && !note_name_valid("a+b", 3) && !note_name_valid("", 0) &&
                  note_name_valid("a/b", 3),
              "note: names");
    buf_release(&file);
}

static void test_frames(void)
{
    struct buf out;
    struct frame_chain chain = {0}, at = {0};
    struct frame f;
    buf_init(&out, &allocator_libc, 1 << 20);
    frame_write(&out, &chain, FRAME_RECORD, 0, "one", 3);
    frame_write(&out, &chain, FRAME_RECORD, 1, "", 0);
    const unsigned char *bytes = (const unsigned char *)out.data;
    tap_check(frame_read(bytes, out.len, &f) == FRAME_FOUND_WHOLE && f.type == FRAME_RECORD &&
                  f.index == 0 && f.length == 3 && memcmp(f.payload, "one", 3) == 0 &&
                  frame_follows(&f, &at),
              "frame: read");
    frame_pass(&at, &f);
    size_t first = frame_bytes(&f);
    tap_check(frame_read(bytes + first, out.len - first, &f) == FRAME_FOUND_WHOLE && f.index == 1 &&
                  f.length == 0 && frame_follows(&f, &at),
              "frame: the next one, empty");
    bool any = false, none = true;
    for (size_t i = 0; i < first; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            out.data[i] = (char)(out.data[i] ^ 1 << bit);
            any |= frame_read(bytes, first, &f) == FRAME_FOUND_WHOLE;
            out.data[i] = (char)(out.data[i] ^ 1 << bit);
        }
        none &= frame_read(bytes, i, &f) != FRAME_FOUND_WHOLE;
    }
    tap_check(!any, "frame: no bit of it can be changed");
    tap_check(none, "frame: no part of it is a frame");
    unsigned char zeros[FRAME_HEADER] = {0};
    tap_number(frame_read(zeros, sizeof(zeros), &f), FRAME_FOUND_NONE, "frame: zeros are none");
    buf_release(&out);
}

int main(void)
{
    test_crc();
    test_base64();
    test_merkle();
    test_notes();
    test_frames();
    return tap_done();
}
