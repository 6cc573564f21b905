/* nacre hash: one hash of a whole directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/json.h"
#include "changes/fs_hash.h"
#include "cli/cli.h"
#include "engine/engine.h"

enum { ARENA_MAX = 1 << 20 };

struct hash_options {
    bool json;
};

static const struct option hash_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct hash_options, json)},
    {0},
};

static void print(const struct fs_hash *f, const char *path, bool as_json)
{
    char hex[SHA256_HEX + 1];
    fs_hash_root(f, hex);
    if (as_json) {
        struct fs_hash_sums sums;
        struct json json, *j = &json;
        fs_hash_sum(f, &sums);
        json_init(j, cli_print_json, NULL);
        json_object_begin(j);
        json_key(j, "fs_hash");
        json_text(j, hex);
        json_key(j, "path");
        json_text(j, path);
        json_key(j, "files");
        json_unsigned(j, sums.files);
        json_key(j, "bytes");
        json_unsigned(j, sums.bytes);
        json_object_end(j);
        json_finish(j);
    } else {
        cli_print(hex, SHA256_HEX);
    }
    cli_print("\n", 1);
}

static int hash_directory(const char *path, bool as_json)
{
    struct fs_hash *f;
    struct err e;
    FD_CLEANUP int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err_errno(&e, -errno, "'%s'", path);
        cli_complain("hash: %s", e.message);
        return EXIT_NO;
    }
    /* What nacre keeps there is no part of what people have there. */
    static const char *const exclude[] = {STORE_IN_ROOT, NULL};
    const struct fs_hash_options options = {
        .root_fd = fd, .exclude = exclude, .allocator = &allocator_libc};
    if (fs_hash_open(&options, &f, &e) < 0) {
        cli_complain("hash: '%s': %s", path, e.message);
        return EXIT_NO;
    }
    print(f, path, as_json);
    fs_hash_close(f);
    return cli_finish(EXIT_YES, EXIT_NO);
}

static int hash_run(const void *options, const struct options_parsed *words)
{
    const struct hash_options *wanted = options;
    if (words->count > 1) {
        cli_complain("hash: takes one directory");
        return EXIT_WRONG_CALL;
    }
    struct arena arena;
    struct workspace workspace;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    const char *path = ".";
    if (words->count)
        path = words->operands[0];
    else if (workspace_resolve(&arena, NULL, NULL, getenv("HOME"), &workspace, NULL) == 0)
        path = workspace.root;
    int status = hash_directory(path, wanted->json);
    arena_release(&arena);
    return status;
}

const struct command command_hash = {
    .name = "hash",
    .summary = "one hash of a whole directory",
    .synopsis = "[DIR]",
    .description =
        "Prints a SHA-256 over everything in DIR: names, types, modes, contents and link targets, "
        "but no times and no owners. Equal directories have equal hashes on every machine. "
        "Without DIR it is the workspace: the nearest parent with .nacre or .git, else the current "
        "directory. Links are not followed; what cannot be read is an error.\n"
        "\n"
        "    nacre hash\n"
        "    nacre hash --json src\n"
        "\n"
        "With --json one object: fs_hash, path, files with the number of regular files, and bytes "
        "with what is in them.\n"
        "\n"
        "Exit status: 0 printed, 1 could not be computed, 2 a wrong call.",
    .options = hash_options,
    .options_size = sizeof(struct hash_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = hash_run,
};
