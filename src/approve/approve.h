/*
 * Approvals: a question that a CONFIRM asks, and a person's answer to it.
 *
 * In:    what is about to run, or to become real, and why somebody must say yes.
 * Out:   an answer, found by what it is bound to, and used.
 * Never: decides by itself, or believes what it cannot check.
 *
 *   STATE/questions/ID.question   what is asked
 *   STATE/questions/ID.answer     what was said
 *   STATE/questions/ID.used       the same, once it was used; kept until it is too late anyway
 *   STATE/approver                whose passphrase makes which key (key.c); public
 *
 * Files are whole or not there, for their owner alone, and no link is followed. Invariants, which
 * tests name:
 *
 *   A1  An answer counts for the call that it is bound to, by a hash of its canonical text, policy,
 *       workspace, directory, agent, session and standard input, and of a script by its language
 * and all of its bytes; and for no other. A2  `once` is for one run: whoever renames the answer has
 * it. A3  What is not whole, not the owner's alone, or does not hash to what it says is no answer.
 *   A4  Where the policy names a key, an answer counts only if that key signed all that it says.
 *   A5  Too late is no.
 */
#ifndef NACRE_APPROVE_APPROVE_H
#define NACRE_APPROVE_APPROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "ledger/note.h"

enum {
    QUESTION_TEXT_MAX = 1 << 20,     /* nobody can judge a longer one */
    QUESTION_VERDICT_MAX = 16 << 20, /* JSON */
    QUESTION_BYTES_MAX = 24 << 20,
    QUESTION_HEAD_MAX = 512,
    QUESTIONS_MAX = 256,            /* open at once */
    QUESTIONS_BYTES_MAX = 64 << 20, /* all of them */
    ANSWER_BYTES_MAX = 64 << 10,
    ANSWER_REASON_MAX = 4096,
};

enum question_kind {
    QUESTION_RUN,     /* whether a text may run */
    QUESTION_CHANGES, /* whether what a run did may become real */
};

/* Absent texts are NULL. */
struct question {
    char id[UUID_TEXT + 1]; /* of the run that asks */
    enum question_kind kind;
    int64_t asked_ms, expires_ms; /* UTC; expires_ms 0: it stays open */
    bool waits;                   /* its run waits for the answer, and holds the file locked */
    const char *text;             /* as given: any bytes */
    size_t text_len;
    const char *canonical; /* what runs */
    size_t canonical_len;
    const char *language; /* of a script, which the text runs */
    const char *script;   /* its bytes: any */
    size_t script_len;
    const char *workspace, *directory, *agent, *profile, *session;
    const char *config;       /* a file that stood for the user's configuration */
    const char *input;        /* standard input: "none", "unknown", or the SHA-256 of it */
    const char *mandate_hash; /* of the policy */
    const char *key;          /* public, with which the answer must be signed */
    const char *user;         /* who called nacre */
    const char *verdict;      /* as JSON: acts and reasons */
    size_t verdict_len;
    char binding[SHA256_HEX + 1]; /* A1 */
};

enum answer_scope {
    ANSWER_ONCE,
    ANSWER_JOB,    /* this call, however often, until the answer expires */
    ANSWER_ALWAYS, /* a rule was written besides */
    ANSWER_SCOPES
};
extern const char *const answer_scope_names[ANSWER_SCOPES];

struct answer {
    char id[UUID_TEXT + 1]; /* of the question */
    char binding[SHA256_HEX + 1];
    bool yes;
    enum answer_scope scope;
    int64_t time_ms, expires_ms;
    const char *by;     /* who: "uid 1000 (ada)" */
    const char *reason; /* NULL */
    bool is_signed;
    char key_name[NOTE_NAME_MAX + 1];
    unsigned char signature[NOTE_SIGNATURE_BYTES];
};

/* --- question.c, answer.c: as bytes ---------------------------------------------------------- */

/* Fills in `binding`. */
void question_bind(struct question *q);

int question_write(const struct question *q, struct buf *out, struct err *e);
/* -EBADMSG: it is none, or not the one that it says it is. Everything is in the arena. */
int question_read(struct arena *arena, const char *bytes, size_t len, struct question *ret,
                  struct err *e);

/*
 * What stands before the text, from the first bytes of one: id, kind, times, `waits` and the
 * binding, which nobody has checked yet.
 */
int question_read_head(const char *bytes, size_t len, struct question *ret);

int answer_write(const struct answer *a, struct buf *out, struct err *e);
int answer_read(struct arena *arena, const char *bytes, size_t len, struct answer *ret,
                struct err *e);
void answer_sign(struct answer *a, const struct note_signer *signer);
/* Whether the key, a text as the policy has it, signed all of it (A4). 0 or -EBADMSG, -EPERM. */
int answer_check(const struct answer *a, const char *key, struct err *e);

/* --- key.c: a signing key from a passphrase -------------------------------------------------- */

enum { PASSPHRASE_MIN = 8, PASSPHRASE_MAX = 1024 };

/* Makes a new salt, writes it to STATE/approver, and tells the public key to be put into a
 * configuration. */
int approver_make(const char *state, const char *name, const char *passphrase,
                  struct note_signer *ret, struct err *e);
/* The same key again. -ENOENT: none was made here; -EPERM: by another passphrase. */
int approver_open(const char *state, const char *passphrase, struct note_signer *ret,
                  struct err *e);
/* Whether one was made here. */
bool approver_exists(const char *state);

/* --- folder.c: questions and answers on the disk --------------------------------------------- */

/* Writes a question down. With `waits`, `ret_lock` holds it until it is closed; else -1. -EMFILE:
 * too many are open. */
int approve_ask(const char *state, const struct question *q, int *ret_lock, struct err *e);

/* Nobody else asks until it is closed; -1: it is not to be had, and whoever asks does without. */
int approve_lock(const char *state);

/* Its question is no more. */
void approve_withdraw(const char *state, const char *id);

/* Writes an answer down. -EEXIST: there is one; -ENOENT: there is no such question. */
int approve_say(const char *state, const struct answer *a, struct err *e);

/* By which answers count. */
struct approve_rules {
    const char *key; /* NULL: they need not be signed */
    int64_t now_ms;
    uint64_t timeout_ms; /* how long after it was given one counts at most, whatever it says */
};

/*
 * An answer for a call with this binding, of a question that nobody waits for. 1: there is one, and
 * where it was for once it is used now (A2); 0: none.
 */
int approve_take(struct arena *arena, const char *state, const char *binding,
                 const struct approve_rules *rules, struct answer *ret, struct err *e);
/* The answer to this question, likewise, for the run that waits for it. */
int approve_take_own(struct arena *arena, const char *state, const struct question *q,
                     const struct approve_rules *rules, struct answer *ret, struct err *e);

/* An open question with this binding that nobody waits for; its id. 1 or 0. */
int approve_find_same(struct arena *arena, const char *state, const char *binding, int64_t now_ms,
                      char ret_id[UUID_TEXT + 1], struct err *e);

/* The question with this id, or the start of one. -ENOENT, -ENOTUNIQ. */
int approve_find(struct arena *arena, const char *state, const char *id, struct question *ret,
                 struct err *e);

/* Those that have no answer yet, the oldest first. What cannot be read is counted in `ret_bad`. */
int approve_list(struct arena *arena, const char *state, struct question **ret, size_t *ret_count,
                 size_t *ret_bad, struct err *e);

/*
 * Removes what is too late or was left behind. `gone` is told of each question that went without an
 * answer; `withdrawn`: who waited for it is gone.
 */
void approve_sweep(struct arena *arena, const char *state, int64_t now_ms,
                   void (*gone)(void *user, const char *id, bool withdrawn), void *user);

/* --- judge.c: a program that is asked first -------------------------------------------------- */

enum judge_word {
    JUDGE_ESCALATE, /* also when it is late, fails, or says nothing that can be read */
    JUDGE_ACCEPT,
    JUDGE_REJECT
};
extern const char *const judge_word_names[];

struct judge_answer {
    enum judge_word word;
    char reason[1024]; /* its own, or why it has none */
};

/* `question` is its standard input. `program` is a whole path; `argv` ends with NULL. */
void approve_judge(const char *program, const char *const *argv, uint64_t timeout_ms, int cancel_fd,
                   const char *question, size_t len, struct judge_answer *ret);

/* The question as JSON for it, and for people's programs. */
int question_write_public(const struct question *q, struct buf *out, struct err *e);

/* --- rule.c: 'always' as a rule -------------------------------------------------------------- */

/*
 * The patterns that allow just what the question shows, each for shell.allow. -ENOTSUP: they cannot
 * say it; the message has why.
 */
int rule_patterns(struct arena *arena, const struct question *q, const char *const **ret,
                  size_t *ret_count, struct err *e);

/*
 * A configuration with one more entry in shell.allow, the rest byte for byte as it was. `line` is
 * where. -ENOTSUP: it is written in a way that this cannot add to.
 */
int rule_add(const char *name, const char *bytes, size_t len, const char *pattern, struct buf *out,
             size_t *ret_line, struct err *e);

#endif
