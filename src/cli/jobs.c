/* nacre job: workspaces of their own for the tasks of agents. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "cli/kept.h"

enum { ARENA_MAX = 64 << 20, TEXT_MAX = 16 << 20 };

struct job_options {
    struct policy_options policy;
    bool json;
};

static const struct option job_options[] = {
    POLICY_OPTIONS(struct job_options),
    POLICY_WORKSPACE_OPTION(struct job_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object, or an array of them",
     .offset = offsetof(struct job_options, json)},
    {0},
};

static void write_job(struct json *j, const char *id, const char *path, int64_t made_ms)
{
    char time[CLOCK_RFC3339 + 1];
    json_object_begin(j);
    json_key(j, "id");
    json_text(j, id);
    json_key(j, "path");
    json_text(j, path);
    if (made_ms) {
        clock_format_rfc3339(made_ms, time);
        json_key(j, "changed");
        json_text(j, time);
    }
    json_object_end(j);
}

static int new_job(struct arena *arena, const struct work_root *root, bool json, struct err *e)
{
    char id[WORK_ID + 1];
    int r = work_new(root, id, e);
    if (r < 0)
        return r;
    if (json) {
        struct json j;
        const char *path = arena_format(arena, "%s/%s", root->path, id);
        json_init(&j, cli_print_json, NULL);
        write_job(&j, id, path ? path : "", 0);
    } else {
        cli_print(id, strlen(id));
    }
    cli_print("\n", 1);
    return 0;
}

static int list(struct arena *arena, const struct work_root *root, bool json, struct err *e)
{
    struct work_listed *jobs = NULL;
    size_t count = 0;
    int r = work_list(arena, root, &jobs, &count, e);
    if (r < 0)
        return r;
    if (json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        json_array_begin(&j);
        for (size_t i = 0; i < count; i++)
            write_job(&j, jobs[i].id, jobs[i].path, jobs[i].made_ms);
        json_array_end(&j);
        json_finish(&j);
        cli_print("\n", 1);
        return 0;
    }
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        char time[CLOCK_RFC3339 + 1];
        clock_format_rfc3339(jobs[i].made_ms, time);
        buf_append_format(&out, "%s  %s  ", jobs[i].id, time);
        cli_append_escaped(&out, jobs[i].path, TEXT_MAX);
        buf_append_byte(&out, '\n');
    }
    cli_print_buf(&out);
    return 0;
}

/* Its sessions first: one that is in use says that the job is. The ledger keeps what was done. */
static int forget_sessions(struct arena *arena, const char *path, struct err *e)
{
    const char *state = kept_state_dir();
    struct session_listed *sessions = NULL;
    size_t count = 0;
    int r = state ? session_list(arena, state, path, &sessions, &count, e) : 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = session_remove(state, path, sessions[i].name, e);
    return r;
}

static int remove_job(struct arena *arena, const struct work_root *root, const char *word,
                      bool json, struct err *e)
{
    char id[WORK_ID + 1];
    const char *path = NULL;
    int r = work_find(arena, root, word, id, &path, e);
    if (r == 0)
        r = forget_sessions(arena, path, e);
    if (r == 0)
        r = work_remove(root, id, e);
    if (r == 0 && json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        write_job(&j, id, path, 0);
        cli_print("\n", 1);
    }
    return r;
}

static int job_run(const void *options, const struct options_parsed *words)
{
    const struct job_options *wanted = options;
    const char *what = words->count ? words->operands[0] : "list";
    bool making = strcmp(what, "new") == 0 && words->count == 1;
    bool listing = strcmp(what, "list") == 0 && words->count <= 1;
    bool removing = strcmp(what, "rm") == 0 && words->count >= 2;
    struct arena arena;
    struct work_root root = {.dir = -1};
    struct err e = {0};
    if (!making && !listing && !removing) {
        cli_complain("job: new, list, or rm ID...");
        return EXIT_WRONG_CALL;
    }
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int status = EXIT_YES;
    int r = decide_open_jobs(&arena, &wanted->policy, wanted->policy.workspace, making, &root, &e);
    if (r < 0)
        status = EXIT_WRONG_CALL;
    else if (making)
        r = new_job(&arena, &root, wanted->json, &e);
    else if (listing)
        r = list(&arena, &root, wanted->json, &e);
    for (int i = 1; r == 0 && removing && i < words->count; i++)
        r = remove_job(&arena, &root, words->operands[i], wanted->json, &e);
    if (r < 0)
        cli_complain("job: %s", e.message);
    if (r < 0 && status == EXIT_YES)
        status = EXIT_NO;
    work_close(&root);
    arena_release(&arena);
    return cli_finish(status, EXIT_NO);
}

const struct command command_job = {
    .name = "job",
    .summary = "workspaces of their own for the tasks of agents",
    .synopsis = "new | list | rm ID...",
    .description =
        "`new` makes an empty workspace job_UUID that only its owner may enter, and prints its id. "
        "`--job ID` (or the start of one) of run, test, script, plan and serve then stands for "
        "that "
        "workspace: nothing outside of it can be changed, and --cwd does not lead out of it. `rm` "
        "removes it with its sessions; the ledger keeps what was done there.\n"
        "\n"
        "They lie where `jobs.root` of the configuration says, else in "
        "$XDG_DATA_HOME/nacre/jobs or ~/.local/share/nacre/jobs.\n"
        "\n"
        "    job=$(nacre job new)\n"
        "    nacre run --job $job --agent writer 'pandoc in.md -o out.pdf'\n"
        "    nacre history --job $job\n"
        "    nacre job rm $job\n"
        "\n"
        "Exit status: 0; 1 when there is no such job, or it cannot be made or removed; 2 for a "
        "wrong call or a configuration that does not load.",
    .options = job_options,
    .options_size = sizeof(struct job_options),
    .operand_choices = "new|list|rm",
    .wrong_call = EXIT_WRONG_CALL,
    .run = job_run,
};
