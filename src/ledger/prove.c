/*
 * Proofs that one record is in the ledger, as text that stands alone: C2SP's tlog-proof.
 *
 *   c2sp.org/tlog-proof@v1
 *   index N
 *   hashes of the inclusion proof in base64, the leaf's sibling first
 *                             an empty line
 *   the checkpoint
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ledger/base64.h"
#include "ledger/tiles.h"

#define FIRST_LINE "c2sp.org/tlog-proof@v1\n"
#define INDEX      "index "

static int prove_at(struct ledger *l, uint64_t index, const struct signed_head *head,
                    struct tile_view *view, struct buf *out, struct err *e)
{
    struct merkle_hash proof[MERKLE_PROOF_MAX], leaf;
    size_t count;
    struct note note = {0};
    int r = merkle_prove(head->size, index, tile_view_node, view, proof, &count);
    if (r == 0)
        r = tile_view_node(view, 0, index, &leaf);
    if (r < 0)
        return err_errno(e, r, "cannot gather the hashes for a proof");
    r = note_read(head->text, head->len, &note, e);
    if (r == 0)
        r = note_check(&note, &l->signer.public, e);
    if (r < 0)
        return r;
    /* Nothing that does not hold is handed out: a tile may be damaged. */
    if (!merkle_includes(&note.root, note.size, index, &leaf, proof, count))
        return err_set(e, -EBADMSG, "the ledger's tiles are damaged: verify it, then publish anew");
    buf_append_format(out, FIRST_LINE INDEX "%llu\n", (unsigned long long)index);
    for (size_t i = 0; i < count; i++) {
        char line[BASE64_LEN(SHA256_BYTES) + 1];
        base64_write(proof[i].bytes, SHA256_BYTES, line);
        line[sizeof(line) - 1] = '\n';
        buf_append(out, line, sizeof(line));
    }
    buf_append_byte(out, '\n');
    buf_append(out, head->text, head->len);
    return out->failed ? err_errno(e, out->failed, "the proof") : 0;
}

int ledger_prove(struct ledger *l, uint64_t index, struct buf *out, struct err *e)
{
    struct signed_head head = {0};
    struct tile_view *view;
    int r = head_read(l, &head, e);
    if (r < 0)
        return r;
    if (index >= head.size)
        return err_set(e, -ERANGE, "the ledger has no entry %llu", (unsigned long long)index);
    if (append_check(l, NULL) == 0)
        tiles_follow(l, head.size, NULL); /* saves work; a proof can be had without */
    r = tile_view_open(l, head.size, &view, e);
    if (r == 0) {
        r = prove_at(l, index, &head, view, out, e);
        tile_view_free(view);
    }
    return r;
}

/* --- checking -------------------------------------------------------------------------------- */

struct proof {
    uint64_t index;
    struct merkle_hash hashes[MERKLE_PROOF_MAX];
    size_t count;
    struct note note;
};

static bool skip(const char **at, const char *end, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0)
        return false;
    *at += len;
    return true;
}

static int read_proof(const char *text, size_t len, struct proof *ret, struct err *e)
{
    const char *at = text, *end = text + len, *newline;
    size_t digits = 0;
    if (!skip(&at, end, FIRST_LINE))
        return err_set(e, -EBADMSG, "not a proof: its first line is not c2sp.org/tlog-proof@v1");
    /* Extra data is signed by nobody: it means nothing here. */
    if (skip(&at, end, "extra ")) {
        newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    if (!skip(&at, end, INDEX))
        return err_set(e, -EBADMSG, "not a proof: no index");
    for (ret->index = 0; at < end && *at >= '0' && *at <= '9' && digits < 17; at++, digits++)
        ret->index = ret->index * 10 + (uint64_t)(*at - '0');
    if (digits == 0 || (digits > 1 && at[-(ptrdiff_t)digits] == '0') || !skip(&at, end, "\n"))
        return err_set(e, -EBADMSG, "not a proof: no index");
    for (ret->count = 0; !skip(&at, end, "\n"); ret->count++) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline || ret->count == MERKLE_PROOF_MAX ||
            base64_read(at, (size_t)(newline - at), ret->hashes[ret->count].bytes, SHA256_BYTES) <
                0)
            return err_set(e, -EBADMSG, "not a proof: line %zu is no hash", ret->count + 3);
        at = newline + 1;
    }
    int r = note_read(at, (size_t)(end - at), &ret->note, e);
    if (r == 0 && ret->note.len != (size_t)(end - at))
        r = err_set(e, -EBADMSG, "not a proof: something stands behind its checkpoint");
    return r;
}

int ledger_check_proof(const char *proof, size_t proof_len, const char *key, size_t key_len,
                       const void *record, size_t record_len, uint64_t *ret_index,
                       uint64_t *ret_size, struct err *e)
{
    struct proof p = {0};
    struct note_key public = {0};
    struct merkle_hash leaf;
    int r = note_key_read(key, key_len, &public, e);
    if (r == 0)
        r = read_proof(proof, proof_len, &p, e);
    if (r == 0)
        r = note_check(&p.note, &public, e) < 0 ? -EBADMSG : 0;
    if (r < 0)
        return r;
    merkle_leaf(record, record_len, &leaf);
    if (!merkle_includes(&p.note.root, p.note.size, p.index, &leaf, p.hashes, p.count))
        return err_set(e, -EBADMSG, "the proof does not hold for this entry");
    if (ret_index)
        *ret_index = p.index;
    if (ret_size)
        *ret_size = p.note.size;
    return 0;
}
