/*
 * nacre-verify: checks a ledger, or the proof for one entry. Links base and ledger and nothing
 * else, so that whoever wants to trust it can read all of it: docs/ledger.md has the format,
 * ../verify.c does the work.
 *
 * Exit status: 0 good, 1 damage or not readable, 2 a wrong call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/options.h"
#include "ledger/ledger.h"
#include "ledger/report.h"

/* The Makefile says it. */
#ifndef NACRE_VERSION
#define NACRE_VERSION "unknown"
#endif

enum { GOOD = 0, DAMAGED = 1, WRONG_CALL = 2 };
enum { FILE_MAX = 64 << 20, TEXT_MAX = 1 << 20 };

struct verify_options {
    bool json, since, signatures, version;
    const char *checkpoint, *key, *proof, *entry;
};

static const struct option verify_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct verify_options, json)},
    {.name = "checkpoint",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "checkpoints that were kept elsewhere; the ledger must contain them all",
     .offset = offsetof(struct verify_options, checkpoint)},
    {.name = "key",
     .kind = OPTION_TEXT,
     .value_name = "FILE|TEXT",
     .completes = COMPLETES_FILE,
     .help = "the ledger's public key, kept elsewhere",
     .offset = offsetof(struct verify_options, key)},
    {.name = "since",
     .kind = OPTION_FLAG,
     .help = "only what came after the latest checkpoint of --checkpoint",
     .offset = offsetof(struct verify_options, since)},
    {.name = "signatures",
     .kind = OPTION_FLAG,
     .help = "check the signature of every checkpoint, not only of those that matter",
     .offset = offsetof(struct verify_options, signatures)},
    {.name = "proof",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "check this proof for the record of --entry instead",
     .offset = offsetof(struct verify_options, proof)},
    {.name = "entry",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "the record's bytes",
     .offset = offsetof(struct verify_options, entry)},
    {.name = "version",
     .kind = OPTION_FLAG,
     .help = "print the version",
     .offset = offsetof(struct verify_options, version)},
    {0},
};

static void complain(const char *message)
{
    fprintf(stderr, "nacre-verify: %s\n", message);
}

static int read_file(const char *path, struct buf *out, struct err *e)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "'%s'", path);
    for (;;) {
        char part[1 << 14];
        ssize_t n = read(fd, part, sizeof(part));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, "'%s'", path);
        if (n == 0)
            return 0;
        if (buf_append(out, part, (size_t)n) < 0)
            return err_errno(e, out->failed, "'%s'", path);
    }
}

/* A key by its text, or a file with it. A key's text has two plus signs, and no file is asked for
 * a name of that form unless there is one. */
static int read_key(const char *given, struct buf *out, struct err *e)
{
    if (access(given, F_OK) < 0 && strchr(given, '+'))
        return buf_append_text(out, given);
    return read_file(given, out, e);
}

/* On a terminal, when it takes a while. */
static int show_progress(void *user, uint64_t done, uint64_t all)
{
    (void)user;
    fprintf(stderr, "\r%3llu %% of %llu MB", (unsigned long long)(all ? 100 * done / all : 100),
            (unsigned long long)(all >> 20));
    return 0;
}

/* --- the report ------------------------------------------------------------------------------ */

static int write_out(void *user, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, user) == len ? 0 : -EIO;
}

static void number(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_unsigned(j, value);
}

static void print_json(const struct ledger_report *r)
{
    struct json json, *j = &json;
    json_init(j, write_out, stdout);
    json_object_begin(j);
    json_key(j, "good");
    json_bool(j, r->good);
    report_write_json(r, j);
    json_object_end(j);
    json_finish(j);
    putchar('\n');
}

static void print_text(const struct ledger_report *r)
{
    char root[REPORT_ROOT_TEXT + 1];
    struct buf damages;
    buf_init(&damages, &allocator_libc, FILE_MAX);
    report_root(r, root);
    report_append_damages(r, &damages);
    fwrite(damages.data, 1, damages.len, stdout);
    buf_release(&damages);
    printf("%s: %llu entries of %s, root %s\n", r->good ? "good" : "NOT GOOD",
           (unsigned long long)r->size, r->origin, root);
    if (r->first)
        printf("records are there from entry %llu on; of those before, only hashes\n",
               (unsigned long long)r->first);
    if (r->since > r->first)
        printf("looked at from entry %llu on\n", (unsigned long long)r->since);
    if (r->unsigned_records || r->torn_bytes)
        printf("behind the last checkpoint: %llu whole records, %llu bytes of an unfinished write; "
               "nobody was told that these are kept\n",
               (unsigned long long)r->unsigned_records, (unsigned long long)r->torn_bytes);
    if (!r->key_was_given)
        printf("by the ledger's own key: only --key with one kept elsewhere shows that it was not "
               "replaced\n");
}

/* --- what to do ------------------------------------------------------------------------------ */

static int check_ledger(const struct verify_options *o, const char *dir)
{
    struct buf checkpoint, key;
    struct err e = {0};
    struct ledger_report *report = calloc(1, sizeof(*report));
    bool terminal = isatty(STDERR_FILENO);
    int status = WRONG_CALL, r = 0;
    if (!report) {
        complain("out of memory");
        return DAMAGED;
    }
    buf_init(&checkpoint, &allocator_libc, FILE_MAX);
    buf_init(&key, &allocator_libc, TEXT_MAX);
    if (o->checkpoint)
        r = read_file(o->checkpoint, &checkpoint, &e);
    if (r == 0 && o->key)
        r = read_key(o->key, &key, &e);
    if (r == 0) {
        const struct ledger_verify_options options = {
            .checkpoints = o->checkpoint ? checkpoint.data : NULL,
            .checkpoints_len = checkpoint.len,
            .key = o->key ? key.data : NULL,
            .key_len = key.len,
            .since = o->since,
            .all_signatures = o->signatures,
            .progress = terminal ? show_progress : NULL,
        };
        r = ledger_verify(dir, &options, report, &e);
        if (terminal && report->bytes > 8 << 20)
            fputs("\r                                        \r", stderr);
        status = r == -EINVAL ? WRONG_CALL : r < 0 || !report->good ? DAMAGED : GOOD;
    }
    if (r < 0)
        complain(e.message);
    else if (o->json)
        print_json(report);
    else
        print_text(report);
    buf_release(&checkpoint);
    buf_release(&key);
    free(report);
    return status;
}

static int check_proof(const struct verify_options *o, const char *dir)
{
    struct buf proof, entry, key, path;
    struct err e = {0};
    uint64_t index = 0, size = 0;
    buf_init(&proof, &allocator_libc, TEXT_MAX);
    buf_init(&entry, &allocator_libc, TEXT_MAX);
    buf_init(&key, &allocator_libc, TEXT_MAX);
    buf_init(&path, &allocator_libc, TEXT_MAX);
    int status = WRONG_CALL, r = read_file(o->proof, &proof, &e);
    if (r == 0)
        r = read_file(o->entry, &entry, &e);
    if (r == 0 && !o->key)
        r = buf_append_format(&path, "%s/key.pub", dir);
    if (r == 0)
        r = o->key ? read_key(o->key, &key, &e) : read_file(path.data, &key, &e);
    if (r == 0) {
        r = ledger_check_proof(proof.data, proof.len, key.data, key.len, entry.data, entry.len,
                               &index, &size, &e);
        status = r < 0 ? DAMAGED : GOOD;
    }
    if (r < 0)
        complain(e.message);
    if (o->json && status != WRONG_CALL) {
        struct json json, *j = &json;
        json_init(j, write_out, stdout);
        json_object_begin(j);
        json_key(j, "good");
        json_bool(j, r == 0);
        number(j, "index", index);
        number(j, "size", size);
        json_object_end(j);
        json_finish(j);
        putchar('\n');
    } else if (r == 0) {
        printf("good: this is entry %llu of the %llu that were signed\n", (unsigned long long)index,
               (unsigned long long)size);
    }
    buf_release(&proof);
    buf_release(&entry);
    buf_release(&key);
    buf_release(&path);
    return status;
}

static int run(const void *options, const struct options_parsed *words)
{
    const struct verify_options *o = options;
    const char *dir = words->count == 1 ? words->operands[0] : NULL;
    if (o->version) {
        puts("nacre-verify " NACRE_VERSION);
        return GOOD;
    }
    if (!o->proof != !o->entry) {
        complain("--proof and --entry belong together");
        return WRONG_CALL;
    }
    if (o->since && !o->checkpoint) {
        complain("--since needs --checkpoint");
        return WRONG_CALL;
    }
    if (words->count > 1 || (!dir && !(o->proof && o->key))) {
        complain("takes one directory, that of the ledger");
        return WRONG_CALL;
    }
    return o->proof ? check_proof(o, dir) : check_ledger(o, dir);
}

static const struct command command_verify = {
    .name = "nacre-verify",
    .summary = "check a ledger",
    .synopsis = "DIR",
    .description =
        "Checks that nothing in the ledger DIR was changed, moved, added or cut: reads every "
        "record, builds the tree of their hashes and compares it with the signed checkpoints. "
        "Damage is told with the entry and its place. What only somebody outside can know, that "
        "the key was not replaced and the whole directory not put back from an old copy, needs "
        "the public key (--key) and a checkpoint (--checkpoint) that were kept elsewhere.\n"
        "\n"
        "    nacre-verify ~/.local/state/nacre/ledger\n"
        "    nacre-verify --key ledger.pub --checkpoint kept.txt DIR\n"
        "    nacre-verify --key ledger.pub --proof run.tlog-proof --entry run.json\n"
        "\n"
        "Exit status: 0 good, 1 damaged or not readable, 2 a wrong call.",
    .options = verify_options,
    .options_size = sizeof(struct verify_options),
    .wrong_call = WRONG_CALL,
    .run = run,
};

int main(int argc, char **argv)
{
    struct verify_options fields;
    struct options_parsed words;
    struct err e = {0};
    if (options_parse(&command_verify, argc - 1, argv + 1, &fields, &words, &e) < 0) {
        complain(e.message);
        return WRONG_CALL;
    }
    int status = GOOD;
    if (words.help) {
        struct buf text;
        buf_init(&text, &allocator_libc, TEXT_MAX);
        options_help_command(&command_verify, &text);
        fwrite(text.data, 1, text.len, stdout);
        buf_release(&text);
    } else {
        status = run(&fields, &words);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("cannot write");
        return status == GOOD ? DAMAGED : status;
    }
    return status;
}
