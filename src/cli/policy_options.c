/* By which policy; see policy_options.h. */
#include "cli/policy_options.h"

#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "cli/cli.h"
#include "engine/engine.h"
#include "policy/keys.h"

enum { ARENA_MAX = 256 << 20 };

#define SYSTEM_DIR "/etc/nacre"

/* Ends with NULL; NULL for an empty list. */
static int list_to_array(struct arena *arena, const struct option_list *list,
                         const char *const **ret)
{
    *ret = NULL;
    if (!list->count)
        return 0;
    const char **array = arena_alloc_array(arena, list->count + 1, sizeof(*array));
    if (!array)
        return -ENOMEM;
    memcpy(array, list->value, list->count * sizeof(*array));
    *ret = array;
    return 0;
}

/* $XDG_CONFIG_HOME/nacre, else ~/.config/nacre; relative values count as none, as XDG has it. */
static const char *user_dir(struct arena *arena)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        return arena_format(arena, "%s/nacre", config);
    return home && home[0] == '/' ? arena_format(arena, "%s/.config/nacre", home) : NULL;
}

int policy_options_request(struct arena *arena, const struct policy_options *options,
                           const struct policy_call_options *call, const char *workspace,
                           struct policy_request *ret, struct err *e)
{
    struct policy_request request = {
        .profile = options->profile,
        .agent = options->agent,
        .config = options->config,
        .workspace = workspace,
        .system_dir = SYSTEM_DIR,
        .user_dir = user_dir(arena),
    };
    if (call) {
        request.network = call->network;
        if (list_to_array(arena, &call->allow, &request.allow) < 0 ||
            list_to_array(arena, &call->limits, &request.limits) < 0 ||
            list_to_array(arena, &call->read_paths, &request.read_paths) < 0 ||
            list_to_array(arena, &call->write_paths, &request.write_paths) < 0)
            return err_set(e, -ENOMEM, "out of memory");
    }
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = request;
    return 0;
}

int policy_with(const struct policy_options *options, const char *command, policy_user *use,
                const void *user)
{
    struct arena arena;
    struct workspace workspace;
    struct policy_request request;
    const struct policy *policy = NULL;
    struct err e = {0};
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int status = EXIT_WRONG_CALL;
    if (workspace_resolve(&arena, options->workspace, NULL, getenv("HOME"), &workspace, &e) < 0 ||
        policy_options_request(&arena, options, NULL, workspace.root, &request, &e) < 0 ||
        policy_load(&arena, &request, &policy, &e) < 0) {
        cli_complain("%s: %s", command, e.message);
    } else {
        for (size_t i = 0; i < policy->warnings.count; i++)
            cli_warn("%s", policy->warnings.items[i].text);
        status = use(&arena, &request, policy, user);
    }
    arena_release(&arena);
    return status;
}

void policy_append_origin(const struct policy_origin *origin, struct buf *out)
{
    if (origin->layer == LAYER_CALL) {
        buf_append_text(out, "command line");
        return;
    }
    const char *file = origin->file ? origin->file : "";
    buf_append_format(out, "%s ", policy_layer_name(origin->layer));
    /* A name with a line end in it must not look like another line. */
    if (strpbrk(file, "\n\r"))
        json_append_text(out, file);
    else
        buf_append_text(out, file);
    buf_append_format(out, ":%u:%u", origin->line, origin->column);
}

void policy_write_origin(const struct policy_origin *origin, struct json *out)
{
    json_object_begin(out);
    json_key(out, "layer");
    json_text(out, policy_layer_name(origin->layer));
    if (origin->layer != LAYER_CALL) {
        json_key(out, "file");
        json_text(out, origin->file);
        json_key(out, "line");
        json_unsigned(out, origin->line);
        json_key(out, "column");
        json_unsigned(out, origin->column);
    }
    json_object_end(out);
}
