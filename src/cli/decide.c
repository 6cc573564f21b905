/* From options to a decider; see decide.h. */
#include "cli/decide.h"

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
    return 0;
}

int decide_open(struct arena *arena, const struct place_options *place,
                const struct policy_options *policy, const struct policy_call_options *call,
                struct setting *ret, struct err *e)
{
    nacre_run_options options = place_run_options(place);
    int r = decide_run_options(arena, policy, call, &options, e);
    return r < 0 ? r : engine_open_setting(arena, NULL, &options, ret, e);
}
