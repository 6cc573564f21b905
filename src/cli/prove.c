/* nacre prove: that a run is in the ledger, for a stranger. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/record.h"

enum { ARENA_MAX = 64 << 20, PROOF_MAX = 1 << 20 };

struct prove_options {
    bool json;
    const char *output, *entry;
};

static const struct option prove_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print correlation_id, index, entry and proof as one line of JSON",
     .offset = offsetof(struct prove_options, json)},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "write the proof to this file (default: standard output)",
     .offset = offsetof(struct prove_options, output)},
    {.name = "entry",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "write the entry itself to this file: the proof is about its bytes",
     .offset = offsetof(struct prove_options, entry)},
    {0},
};

static int write_file(const char *path, const char *bytes, size_t len, struct err *e)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    int r = fd < 0 ? -errno : fd_write_all(fd, bytes, len);
    return r < 0 ? err_errno(e, r, "cannot write '%s'", path) : 0;
}

/* The entry is a text in it, so that its bytes, which the proof is about, are kept. */
static void print_json(const struct history_run *run, const struct buf *proof)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "correlation_id");
    json_text(&j, run->main->entry.id);
    json_key(&j, "index");
    json_unsigned(&j, run->main->index);
    json_key(&j, "entry");
    json_bytes(&j, run->main->record, run->main->record_len);
    json_key(&j, "proof");
    json_bytes(&j, proof->data, proof->len);
    json_object_end(&j);
    if (json_finish(&j) == 0)
        cli_print("\n", 1);
}

static int prove(struct history *h, const struct prove_options *wanted, const char *id,
                 struct err *e)
{
    struct history_run run;
    struct arena arena;
    struct buf proof;
    uint64_t index;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    buf_init(&proof, &allocator_libc, PROOF_MAX);
    int r = history_find(h, id, &index, e);
    if (r == 0)
        r = history_read(h, &arena, index, &run, e);
    if (r == 0)
        r = ledger_prove(history_ledger(h), run.main->index, &proof, e);
    if (r == 0 && wanted->entry)
        r = write_file(wanted->entry, run.main->record, run.main->record_len, e);
    if (r == 0 && wanted->output)
        r = write_file(wanted->output, proof.data, proof.len, e);
    if (r == 0 && wanted->json)
        print_json(&run, &proof);
    else if (r == 0 && !wanted->output)
        cli_print(proof.data, proof.len);
    buf_release(&proof);
    arena_release(&arena);
    return r;
}

static int prove_run(const void *options, const struct options_parsed *words)
{
    const struct prove_options *wanted = options;
    struct history *h = NULL;
    struct err e = {0};
    if (words->count != 1) {
        cli_complain("prove: which run? `nacre history` lists them");
        return EXIT_WRONG_CALL;
    }
    int r = record_open("prove", &h);
    if (r == -ENOENT)
        cli_complain("prove: nothing is recorded yet");
    if (r < 0)
        return EXIT_NO;
    r = prove(h, wanted, words->operands[0], &e);
    if (r < 0)
        cli_complain("prove: %s", e.message);
    history_close(h);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_prove = {
    .name = "prove",
    .summary = "a proof that a run is in the ledger",
    .synopsis = "ID",
    .description =
        "Prints a proof (C2SP tlog-proof) that the entry with the run's result, or with its intent "
        "where it has none, is in the ledger. It holds for whoever has the entry and the ledger's "
        "public key, without the ledger. ID is as for `nacre history`.\n"
        "\n"
        "    nacre prove 616df709 -o run.tlog-proof --entry run.json\n"
        "    nacre-verify --key ledger.pub --proof run.tlog-proof --entry run.json\n"
        "\n"
        "Exit status: 0; 1 when there is no such run; 2 for a wrong call.",
    .options = prove_options,
    .options_size = sizeof(struct prove_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = prove_run,
};
