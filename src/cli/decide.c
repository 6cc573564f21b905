/* From options to a decider; see decide.h. */
#include "cli/decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int decide_open_jobs(struct arena *arena, const struct policy_options *policy,
                     const char *workspace, bool make, struct work_root *ret, struct err *e)
{
    struct workspace project;
    struct policy_request request;
    const struct policy *loaded = NULL;
    if (workspace && strcmp(workspace, WORKSPACE_IN_MEMORY) == 0)
        return err_set(e, -EINVAL, "a job has a workspace of its own, not one in memory");
    int r = workspace_resolve(arena, workspace, NULL, getenv("HOME"), &project, e);
    if (r == 0)
        r = policy_options_request(arena, policy, NULL, project.root, &request, e);
    if (r == 0)
        r = policy_load(arena, &request, &loaded, e);
    return r < 0 || !loaded ? r
                            : work_open(arena, loaded->jobs_root, project.root,
                                        getenv("XDG_DATA_HOME"), getenv("HOME"), make, ret, e);
}

/* The workspace is the job's: whatever was said of one tells where jobs are looked for. */
static int find_job(struct arena *arena, const struct policy_options *policy,
                    nacre_run_options *ret, struct err *e)
{
    struct work_root root = {.dir = -1};
    const char *path = NULL;
    char *id = arena_alloc(arena, WORK_ID + 1);
    int r = id ? decide_open_jobs(arena, policy, ret->workspace, false, &root, e)
               : err_set(e, -ENOMEM, "out of memory");
    if (r == 0)
        r = work_find(arena, &root, ret->job, id, &path, e);
    work_close(&root);
    if (r < 0)
        return r;
    ret->job = id;
    ret->workspace = path;
    return 0;
}

int decide_run_options(struct arena *arena, const struct policy_options *policy,
                       const struct policy_call_options *call, nacre_run_options *ret,
                       struct err *e)
{
    struct policy_request request;
    int r = policy_options_request(arena, policy, call, NULL, &request, e);
    if (r < 0)
        return r;
    ret->profile = request.profile;
    ret->agent = request.agent;
    ret->config = request.config;
    ret->config_dir = request.user_dir;
    ret->allow = request.allow;
    ret->network = request.network;
    ret->read_paths = request.read_paths;
    ret->write_paths = request.write_paths;
    ret->limits = request.limits;
    return ret->job ? find_job(arena, policy, ret, e) : 0;
}

int decide_open(struct arena *arena, const struct place_options *place,
                const struct policy_options *policy, const struct policy_call_options *call,
                struct setting *ret, struct err *e)
{
    nacre_run_options options = place_run_options(place);
    int r = decide_run_options(arena, policy, call, &options, e);
    return r < 0 ? r : engine_open_setting(arena, NULL, &options, ret, e);
}
