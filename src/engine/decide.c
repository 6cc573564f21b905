/* From a text to a verdict, and whether it runs: reading, facts and policy in a row. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "engine/engine.h"

int engine_decide(const struct decider *d, struct arena *arena, const char *text, size_t len,
                  struct phases *phases, struct verdict *ret, const struct shell_tree **ret_tree,
                  struct err *e)
{
    const struct shell_tree *tree = NULL;
    struct shell_error error;
    phases_enter(phases, PHASE_PARSE);
    int r = shell_parse(arena, text, len, &tree, &error);
    *ret_tree = NULL;
    if (r == -ENOMEM)
        return err_set(e, -ENOMEM, "out of memory");
    if (r < 0)
        return judge_unread(d->judge, arena, &error, ret);
    const struct facts *facts = NULL;
    phases_enter(phases, PHASE_FACTS);
    r = facts_gather(arena, &d->host, tree, &facts, e);
    if (r < 0)
        return r;
    *ret_tree = tree;
    phases_enter(phases, PHASE_VERDICT);
    return judge_facts(d->judge, arena, facts, ret, e);
}

static void refuse(nacre_result *r)
{
    const struct verdict_reason *first = r->verdict.reasons;
    r->status = NACRE_STATUS_DENIED;
    r->exit_code = 126;
    err_set(&r->error, -EPERM, "%s", first ? first->reason : "");
}

/* What the policy says of this run's limits, where the caller leaves them open or goes past them.
 */
static void limit_by(nacre_result *r, const struct policy *policy, nacre_run_options *o)
{
    char most[UNITS_TEXT];
    if (o->timeout_ms == 0)
        o->timeout_ms = policy->default_timeout_ms;
    if (policy->limits.timeout_max_ms && o->timeout_ms > policy->limits.timeout_max_ms) {
        o->timeout_ms = policy->limits.timeout_max_ms;
        units_format_duration(o->timeout_ms, most);
        result_warn(r, "the time limit was lowered to the largest that the policy allows, %s",
                    most);
    }
    uint64_t output = policy->limits.output_bytes;
    if (output && o->output_limit > output)
        result_warn(r, "the output limit was lowered to what the policy allows");
    if (output && (o->output_limit == 0 || o->output_limit > output))
        o->output_limit = output;
    for (size_t i = 0; i < policy->warnings.count; i++)
        result_warn(r, "%s", policy->warnings.items[i].text);
}

/* The text becomes the command that runs the script. */
static bool open_script(nacre_result *r, const nacre_run_options *o, struct setting *setting)
{
    const char *bytes = r->text;
    size_t len = r->text_len;
    r->text = "";
    r->text_len = 0;
    int failure = script_open(&r->arena, setting->decider.policy, setting->box.toolchains.path, o,
                              bytes, len, &r->script, &r->error);
    if (failure == -E2BIG) {
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "parse";
    }
    if (failure < 0)
        return false;
    r->text = r->script.text;
    r->text_len = r->script.text_len;
    setting->script = &r->script;
    return true;
}

/* What would run it is not there: that is told before anybody is asked. */
static bool is_missing(nacre_result *r)
{
    if (!r->script.missing)
        return false;
    r->status = NACRE_STATUS_FAILED;
    r->exit_code = 127;
    r->asks = false;
    script_tell_missing(&r->script, &r->error);
    return true;
}

bool decide_text(nacre_result *r, nacre_run_options *o, struct setting *setting)
{
    const struct decider *d = &setting->decider;
    const struct shell_tree *tree;
    phases_enter(&r->phases, PHASE_SETTING);
    struct policy_cache *cache = &r->engine->policies;
    struct setting place = {0};
    if (engine_open_place(&r->judgement, cache, o, &place, &r->error) < 0)
        return false;
    r->cached = place.cached; /* which is let go with the result */
    if (!o->language)         /* a script's walls have its file in them */
        early_begin(r, o, &place);
    if (engine_open_box(&r->judgement, o, &place, &r->error) < 0)
        return false;
    r->looks.memory = &r->engine->looks;
    place.box.looks = &r->looks;
    *setting = place;
    if (o->language && !open_script(r, o, setting))
        return false;
    if (r->text_len > NACRE_TEXT_MAX) {
        err_set(&r->error, -E2BIG, "the text has more than %d bytes", NACRE_TEXT_MAX);
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "parse";
        return false;
    }
    if (o->session && remember_begin(r, o, setting) < 0)
        return false;
    const char *text = r->remembered.text ? r->remembered.text : r->text;
    size_t len = r->remembered.text ? r->remembered.len : r->text_len;
    if (o->unjudged) {
        limit_by(r, d->policy, o); /* its limits hold all the same */
        phases_enter(&r->phases, PHASE_PARSE);
        int failure = engine_read(&r->arena, text, len, &r->reading, &r->error);
        if (failure < 0 && failure != -ENOMEM) {
            r->status = NACRE_STATUS_DENIED;
            r->exit_code = 126;
            r->rule = "parse";
        }
        return failure == 0 && !is_missing(r);
    }
    int judged = setting->script ? script_decide(d, &r->judgement, setting->script, &r->phases,
                                                 &r->verdict, &tree, &r->error)
                                 : engine_decide(d, &r->judgement, text, len, &r->phases,
                                                 &r->verdict, &tree, &r->error);
    if (judged < 0)
        return false;
    r->judged = true;
    if (o->session)
        remember_place(r);
    r->rule = r->verdict.rule;
    if (r->verdict.decision == DECISION_DENY) {
        refuse(r);
        return false;
    }
    r->asks = r->verdict.decision == DECISION_CONFIRM;
    if (is_missing(r))
        return false;
    limit_by(r, d->policy, o);
    int failure = engine_read_tree(&r->arena, tree, &r->reading, &r->error);
    if (failure == -E2BIG) {
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "parse";
    }
    return failure == 0;
}
