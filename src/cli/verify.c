/* nacre verify: whether the record of this user is whole. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/record.h"
#include "history/verified.h"

enum { FILE_MAX = 64 << 20, TEXT_MAX = 1 << 20 };

struct verify_options {
    const char *checkpoint, *key;
    bool json;
};

static const struct option verify_options[] = {
    {.name = "checkpoint",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "checkpoints that were kept elsewhere: the ledger must extend them all",
     .offset = offsetof(struct verify_options, checkpoint)},
    {.name = "key",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "the ledger's public key, kept elsewhere (default: the ledger's own)",
     .offset = offsetof(struct verify_options, key)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct verify_options, json)},
    {0},
};

static int show_progress(void *user, uint64_t done, uint64_t all)
{
    return record_progress_show(user, done, all);
}

static void print_json(const struct verified *f)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    verified_write_json(f, j);
    json_finish(j);
    cli_print("\n", 1);
}

static void append_damages(struct buf *out, const struct verified *f)
{
    report_append_damages(&f->ledger, out);
    for (size_t i = 0; i < f->bad_count && i < VERIFIED_BAD_MAX; i++)
        buf_append_format(out, "damaged: entry %" PRIu64 ": %s\n", f->bad[i].index, f->bad[i].why);
    if (f->bad_count > VERIFIED_BAD_MAX)
        buf_append_format(out, "damaged: and %" PRIu64 " objects more\n",
                          f->bad_count - VERIFIED_BAD_MAX);
}

static void print_text(const struct verified *f)
{
    const struct ledger_report *r = &f->ledger;
    char root[REPORT_ROOT_TEXT + 1];
    struct buf out;
    report_root(r, root);
    buf_init(&out, &allocator_libc, TEXT_MAX);
    append_damages(&out, f);
    buf_append_format(&out, "%s: %" PRIu64 " entries of %s, root %s\n",
                      verified_is_good(f) ? "good" : "NOT GOOD", r->size, r->origin, root);
    if (f->objects_known)
        buf_append_format(
            &out, "objects: %" PRIu64 " good, %" PRIu64 " damaged, %" PRIu64 " not kept any more\n",
            f->checked, f->bad_count, f->missing);
    else
        buf_append_text(&out, "objects: not looked at, since the ledger is damaged\n");
    if (r->first)
        buf_append_format(
            &out, "records are there from entry %" PRIu64 " on; of those before, only hashes\n",
            r->first);
    if (r->unsigned_records || r->torn_bytes)
        buf_append_format(&out,
                          "behind the last checkpoint: %" PRIu64 " whole records, %" PRIu64
                          " bytes of an unfinished write; nobody was told that these are kept\n",
                          r->unsigned_records, r->torn_bytes);
    if (!r->key_was_given)
        buf_append_text(&out, "by the ledger's own key: only --key with one kept elsewhere shows "
                              "that it was not replaced\n");
    cli_print_buf(&out);
}

/* -EINVAL: what the caller gave is no key or checkpoint. */
static int verify(const struct verify_options *wanted, const char *state, struct verified *f,
                  struct err *e)
{
    struct buf checkpoint, key, ledger;
    struct record_progress progress = {0};
    buf_init(&checkpoint, &allocator_libc, FILE_MAX);
    buf_init(&key, &allocator_libc, TEXT_MAX);
    buf_init(&ledger, &allocator_libc, TEXT_MAX);
    int r = buf_append_format(&ledger, "%s/ledger", state);
    if (r == 0 && wanted->checkpoint)
        r = record_read_file(wanted->checkpoint, &checkpoint, e) < 0 ? -EINVAL : 0;
    if (r == 0 && wanted->key)
        r = record_read_file(wanted->key, &key, e) < 0 ? -EINVAL : 0;
    while (key.len && (key.data[key.len - 1] == '\n' || key.data[key.len - 1] == '\r'))
        key.len--;
    if (r == 0) {
        const struct ledger_verify_options options = {
            .checkpoints = wanted->checkpoint ? checkpoint.data : NULL,
            .checkpoints_len = checkpoint.len,
            .key = wanted->key ? key.data : NULL,
            .key_len = key.len,
            .progress = show_progress,
            .user = &progress,
        };
        record_progress_start(&progress, "reading the ledger");
        r = ledger_verify(ledger.data, &options, &f->ledger, e);
        record_progress_end(&progress);
    }
    if (r == 0 && f->ledger.good) {
        record_progress_start(&progress, "reading objects");
        r = verified_objects(f, state, show_progress, &progress, e);
        record_progress_end(&progress);
    }
    buf_release(&checkpoint);
    buf_release(&key);
    buf_release(&ledger);
    return r;
}

static int verify_run(const void *options, const struct options_parsed *words)
{
    const struct verify_options *wanted = options;
    const char *state = kept_state_dir();
    struct err e = {0};
    if (words->count) {
        cli_complain("verify: takes no operands; `nacre-verify DIR` looks at any ledger");
        return EXIT_WRONG_CALL;
    }
    if (!state) {
        cli_complain("verify: HOME is not set, so there is no state directory");
        return EXIT_NO;
    }
    struct verified *f = calloc(1, sizeof(*f));
    if (!f) {
        cli_complain("verify: out of memory");
        return EXIT_NO;
    }
    int r = verify(wanted, state, f, &e);
    int status = r == -EINVAL                    ? EXIT_WRONG_CALL
                 : r < 0 || !verified_is_good(f) ? EXIT_NO
                                                 : EXIT_YES;
    if (r < 0) {
        cli_complain("verify: %s", e.message);
    } else {
        (wanted->json ? print_json : print_text)(f);
    }
    free(f);
    return cli_finish(status, EXIT_NO);
}

const struct command command_verify = {
    .name = "verify",
    .summary = "check that nothing in the record was changed",
    .synopsis = "",
    .description =
        "Reads the whole ledger of this user and checks that nothing in it was changed, moved, "
        "added or cut, and that every object that an entry names and that is still kept has the "
        "content that the entry says. What only somebody outside can know, that the key was not "
        "replaced and the whole directory not put back from an old copy, needs the public key "
        "(--key) and a checkpoint (--checkpoint) that were kept elsewhere. `nacre-verify` does the "
        "same for any ledger, and is small enough to be read by an auditor.\n"
        "\n"
        "    nacre verify\n"
        "    nacre verify --key ledger.pub --checkpoint kept.txt\n"
        "\n"
        "Exit status: 0 good, 1 damaged or not readable, 2 a wrong call.",
    .options = verify_options,
    .options_size = sizeof(struct verify_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = verify_run,
};
