/* Facts + policy → verdict; see verdict.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/verdict.h"

const char *const decision_names[] = {"deny", "confirm", "allow"};

/* Patterns by their first word. */
struct index {
    const struct policy_pattern **items;
    size_t count;
};

struct judge {
    const struct policy *policy;
    const struct judge_paths *paths;
    const char *workspace;
    struct index allow, confirm, deny, call_allow, session_allow;
    /* It lets programs run that can do anything in the box: a question about a detour is none.
     * Under a mandate that counts for `detours` only if its lists name such a program, too. */
    bool runs_anything, detours;
    bool has_paths; /* a rule that denies or asks has a path in place of a name */
};

static int by_name(const void *a, const void *b)
{
    const struct policy_pattern *const *x = a, *const *y = b;
    int order = strcasecmp((*x)->words[0], (*y)->words[0]);
    return order ? order : (*x < *y ? -1 : *x > *y);
}

static int fill(struct arena *arena, const struct policy_patterns *patterns, struct index *ret)
{
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    ret->items = arena_alloc_array(arena, patterns->count + 1, sizeof(*ret->items));
    if (!ret->items)
        return -ENOMEM;
    for (size_t i = 0; i < patterns->count; i++) {
        if (!patterns->items[i].lifted)
            ret->items[ret->count++] = &patterns->items[i];
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
    return 0;
}

/* The first pattern with this name; the others follow. */
static size_t first_named(const struct index *index, const char *name)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcasecmp(index->items[middle]->words[0], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_named(const struct index *index, size_t i, const char *name)
{
    return i < index->count && strcasecmp(index->items[i]->words[0], name) == 0;
}

/* Whether a pattern means every call of the command. */
static bool is_whole(const struct index *index, const char *name)
{
    for (size_t i = first_named(index, name); is_named(index, i, name); i++) {
        if (index->items[i]->count == 1)
            return true;
    }
    return false;
}

static bool has_path(const struct index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        if (strchr(index->items[i]->words[0], '/'))
            return true;
    }
    return false;
}

/* A list with a program on it that can do anything in the box. */
static bool lists_anything(const struct judge *j, const struct index *list)
{
    bool found = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_pattern *p = list->items[i];
        const struct knowledge *k =
            knowledge_find(j->policy->knowledge, p->words[0], strlen(p->words[0]));
        bool anything = p->count == 1 && !p->exact && k &&
                        (k->kind == KIND_SHELL || k->kind == KIND_INTERPRETER);
        found |=
            anything && !is_whole(&j->deny, p->words[0]) && !is_whole(&j->confirm, p->words[0]);
    }
    return found;
}

int judge_new(struct arena *arena, const struct policy *policy, const char *home,
              const char *workspace, const struct judge **ret, struct err *e)
{
    struct judge *j = arena_alloc(arena, sizeof(*j));
    if (!j)
        return err_set(e, -ENOMEM, "out of memory");
    j->policy = policy;
    j->workspace = workspace;
    j->paths = judge_paths_new(arena, policy, home, workspace);
    if (!j->paths || fill(arena, &policy->allow, &j->allow) < 0 ||
        fill(arena, &policy->confirm, &j->confirm) < 0 ||
        fill(arena, &policy->deny, &j->deny) < 0 ||
        fill(arena, &policy->call_allow, &j->call_allow) < 0 ||
        fill(arena, &policy->session_allow, &j->session_allow) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    j->has_paths = has_path(&j->deny) || has_path(&j->confirm);
    j->runs_anything = policy->unknown == DECISION_ALLOW || lists_anything(j, &j->allow);
    j->detours = j->runs_anything && (!policy->call_mandate || lists_anything(j, &j->call_allow)) &&
                 (!policy->session_mandate || lists_anything(j, &j->session_allow));
    *ret = j;
    return 0;
}

/* --- reasons -------------------------------------------------------------------------------- */

struct judging {
    const struct judge *judge;
    struct arena *arena;
    struct verdict *verdict;
    bool script; /* what the program runs is not a part of the text, and never was */
};

enum { REASONS_MAX = 256 }; /* nobody reads more; the decision counts them all */

static void add_reason(struct judging *g, enum decision decision, const char *rule,
                       const char *reason, struct shell_span span)
{
    struct verdict *v = g->verdict;
    bool stricter = decision < v->decision;
    if (stricter) {
        v->decision = decision;
        v->rule = rule;
    }
    for (const struct verdict_reason *r = v->reasons; r; r = r->next) {
        if (r->decision == decision && r->span.from == span.from && r->span.to == span.to &&
            strcmp(r->rule, rule) == 0 && strcmp(r->reason, reason) == 0)
            return;
    }
    if (v->reason_count >= REASONS_MAX && !stricter)
        return;
    struct verdict_reason *r = arena_alloc(g->arena, sizeof(*r));
    if (!r)
        return;
    *r = (struct verdict_reason){decision, rule, reason, span, NULL};
    v->reason_count++;
    /* The strictest first, otherwise in the order of the text. */
    struct verdict_reason **at = &v->reasons;
    while (*at && ((*at)->decision < decision ||
                   ((*at)->decision == decision && (*at)->span.from <= span.from)))
        at = &(*at)->next;
    r->next = *at;
    *at = r;
}

__attribute__((format(printf, 2, 3))) static const char *say(struct judging *g, const char *format,
                                                             ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (len < 0)
        return "";
    size_t size = (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
    const char *copy = arena_copy(g->arena, text, size);
    return copy ? copy : "out of memory";
}

/* --- acts ----------------------------------------------------------------------------------- */

static const struct policy_pattern *allowed_by(const struct index *index, const struct act *act)
{
    const struct policy_pattern *best = NULL;
    const char *names[] = {act->name, act->word_count ? act->words[0].text : act->name, "./*"};
    for (size_t n = 0; n < 3; n++) {
        if (n == 1 && strcmp(names[0], names[1]) == 0)
            continue;
        for (size_t i = first_named(index, names[n]); is_named(index, i, names[n]); i++) {
            if (match_allow(index->items[i], act) &&
                (!best || index->items[i]->count < best->count))
                best = index->items[i];
        }
    }
    return best;
}

/* One pattern; whether it denied. */
static bool judge_pattern(struct judging *g, const struct policy_pattern *pattern,
                          const struct act *act, enum decision decision, const char *label)
{
    enum match match = match_deny(pattern, act, g->judge->workspace);
    if (match == MATCH_NO)
        return false;
    const char *rule = say(g, "%s: %s", label, pattern->text);
    if (match == MATCH_MAYBE)
        add_reason(g, DECISION_CONFIRM, rule,
                   say(g, "a word that is not known may make it '%s'", pattern->text), act->span);
    else
        add_reason(g, decision, rule,
                   say(g, "'%s' %s", pattern->text,
                       decision == DECISION_DENY ? "is denied" : "must be confirmed"),
                   act->span);
    return match == MATCH_YES && decision == DECISION_DENY;
}

/* Whether it was denied. Patterns with a path in them have no name to be found by. */
static bool judge_listed(struct judging *g, const struct index *index, const struct act *act,
                         enum decision decision, const char *label)
{
    bool denied = false;
    for (size_t i = first_named(index, act->name); is_named(index, i, act->name); i++)
        denied |= judge_pattern(g, index->items[i], act, decision, label);
    for (size_t i = 0; (act->flags & ACT_OTHER_PATH) && i < index->count; i++) {
        if (strchr(index->items[i]->words[0], '/'))
            denied |= judge_pattern(g, index->items[i], act, decision, label);
    }
    return denied;
}

/* Whether a pattern that allows the act names the option. */
static bool is_option_listed(const struct judging *g, const struct act *act, const char *option)
{
    const struct index *allow = &g->judge->allow;
    const struct knowledge *known = act->sub ? act->sub : act->known;
    for (size_t n = first_named(allow, act->name); is_named(allow, n, act->name); n++) {
        const struct policy_pattern *p = allow->items[n];
        for (size_t i = 1; i < p->count && match_allow(p, act); i++) {
            const struct knowledge_option *o =
                known ? knowledge_option(known, p->words[i], strlen(p->words[i])) : NULL;
            if (strcmp(o ? o->same : p->words[i], option) == 0)
                return true;
        }
    }
    return false;
}

/* Options that change what the command is for must be listed by name. */
static void judge_options(struct judging *g, const struct act *act)
{
    if (g->judge->runs_anything)
        return;
    for (size_t i = 0; i < act->asked_count; i++) {
        if (!is_option_listed(g, act, act->asked[i]))
            add_reason(
                g, g->judge->policy->unknown == DECISION_DENY ? DECISION_DENY : DECISION_CONFIRM,
                "option",
                say(g, "'%s' changes what '%s' does, and is not listed", act->asked[i], act->name),
                act->span);
    }
}

static void judge_effects(struct judging *g, const struct act *act)
{
    const struct policy *policy = g->judge->policy;
    bool network = policy->network == NETWORK_ON;
    if (policy->accept_irreversible)
        return;
    bool outside = (act->effects & EFFECT_NETWORK) != 0;
    if (outside ? network : (act->effects & EFFECT_IRREVERSIBLE) != 0)
        add_reason(g, DECISION_CONFIRM, "irreversible",
                   say(g, "'%s' %s", act->name,
                       outside ? "talks to other machines, which nothing can undo"
                               : "does what nothing can undo"),
                   act->span);
}

/* What an act is called: its name, and its subcommand. */
static const char *title(struct judging *g, const struct act *act)
{
    bool sub = act->known && act->known->subcommand_count && act->first_operand < act->word_count &&
               act->words[act->first_operand].state == WORD_KNOWN;
    return sub ? say(g, "%s %s", act->words[0].text, act->words[act->first_operand].text)
               : act->words[0].text;
}

static void judge_unlisted(struct judging *g, const struct act *act)
{
    const struct policy *policy = g->judge->policy;
    if (act->flags & ACT_TRANSPARENT) {
        judge_options(g, act);
        return;
    }
    if (g->script) {
        if (policy_scripts(policy) != DECISION_ALLOW)
            add_reason(g, policy_scripts(policy), "scripts",
                       say(g, "'%s' runs a script, in which anything may stand", title(g, act)),
                       act->span);
        return;
    }
    if (policy->unknown == DECISION_ALLOW)
        return;
    const char *what = act->flags & ACT_WORKSPACE ? "is a program of the workspace, and not listed"
                       : act->flags & ACT_OTHER_PATH ? "is not a command that PATH finds"
                                                     : "is not on the list";
    add_reason(g, policy->unknown, "unknown", say(g, "'%s' %s", title(g, act), what), act->span);
}

/* Whether every list of the call and of its session allows the act. */
static bool is_mandated(const struct judge *judge, const struct act *act)
{
    const struct policy *policy = judge->policy;
    return (!policy->call_mandate || allowed_by(&judge->call_allow, act)) &&
           (!policy->session_mandate || allowed_by(&judge->session_allow, act));
}

static void judge_name(struct judging *g, const struct act *act)
{
    bool denied = judge_listed(g, &g->judge->deny, act, DECISION_DENY, "deny");
    judge_listed(g, &g->judge->confirm, act, DECISION_CONFIRM, "confirm");
    if (denied || (act->flags & ACT_FUNCTION))
        return;
    enum knowledge_kind kind = act->known ? act->known->kind : KIND_PLAIN;
    const struct policy_pattern *pattern = allowed_by(&g->judge->allow, act);
    if (pattern)
        judge_options(g, act);
    else if (kind == KIND_PRIVILEGE || (act->effects & EFFECT_PRIVILEGE))
        add_reason(
            g, DECISION_DENY, "privilege",
            say(g, "'%s' is for getting more rights, or for running things outside", act->name),
            act->span);
    else if (kind == KIND_NETWORK)
        add_reason(g, DECISION_DENY, "network",
                   say(g, "'%s' is for talking to other machines, and is not listed", act->name),
                   act->span);
    else
        judge_unlisted(g, act);
    if (!(act->flags & (ACT_TRANSPARENT | ACT_ASSUMED)) && !is_mandated(g->judge, act))
        add_reason(g, DECISION_DENY, "mandate",
                   say(g, "'%s' is not on the list of this call", act->name), act->span);
    if (g->verdict->decision == DECISION_ALLOW && !g->verdict->rule &&
        (pattern || !(act->flags & ACT_TRANSPARENT)))
        g->verdict->rule = pattern     ? say(g, "allow: %s", pattern->text)
                           : g->script ? "scripts: allow"
                                       : "unknown: allow";
    judge_effects(g, act);
}

static void judge_act(struct judging *g, const struct act *act)
{
    if (act->name)
        judge_name(g, act);
    for (const struct fact_path *path = act->paths; path; path = path->next) {
        const char *rule, *reason;
        enum decision decision = judge_path(g->judge->paths, g->arena, path, &rule, &reason);
        bool moot = decision == DECISION_CONFIRM && g->judge->runs_anything;
        if (decision != DECISION_ALLOW && !moot)
            add_reason(g, decision, rule, reason ? reason : "out of memory", path->span);
    }
}

/* --- findings ------------------------------------------------------------------------------- */

static const struct {
    const char *rule;
    bool always_deny;
    bool of_the_box; /* no more than a program that may do anything: moot where such are listed */
} finding_rules[] = {
    [FINDING_NAME] = {"name", false, false},
    [FINDING_CODE] = {"code", false, true},
    [FINDING_VALUE] = {"value", false, true},
    [FINDING_OPTION] = {"option", false, true},
    [FINDING_VARIABLE] = {"variable", false, true},
    [FINDING_SETTING] = {"setting", false, false},
    [FINDING_SHADOW] = {"shadow", false, false},
    [FINDING_DIALECT] = {"dialect", false, true},
    [FINDING_NAME_FILE] = {"option", false, true},
    [FINDING_BOUND] = {"bound", false, false},
    [FINDING_DECODED] = {"decoded", true, false},
    [FINDING_DOWNLOAD] = {"downloaded", true, false},
};

static void judge_finding(struct judging *g, const struct finding *f)
{
    const struct policy *policy = g->judge->policy;
    /* A plain command is the program that it names, and nothing is set for it to be another. */
    bool counts = policy->plain && f->kind == FINDING_VARIABLE;
    if (finding_rules[f->kind].of_the_box && g->judge->detours && !counts)
        return;
    enum decision decision = DECISION_CONFIRM;
    /* A mandate is a whole list: what nobody can name is not on it. */
    if (finding_rules[f->kind].always_deny || policy->unknown == DECISION_DENY ||
        policy_has_mandate(policy))
        decision = DECISION_DENY;
    add_reason(g, decision, finding_rules[f->kind].rule,
               f->why ? say(g, "%s %s", f->what, f->why) : f->what, f->span);
}

/* --- the whole ------------------------------------------------------------------------------ */

static struct judging begin(const struct judge *judge, struct arena *arena, struct verdict *ret)
{
    *ret = (struct verdict){.decision = DECISION_ALLOW, .mandate_hash = judge->policy->hash};
    return (struct judging){.judge = judge, .arena = arena, .verdict = ret};
}

int judge_facts(const struct judge *judge, struct arena *arena, const struct facts *facts,
                struct verdict *ret, struct err *e)
{
    const struct policy *policy = judge->policy;
    struct verdict verdict;
    struct judging g = begin(judge, arena, &verdict);
    const struct shell_span all = {0, (uint32_t)facts->text_len};
    verdict.facts = facts;
    if (policy->refused)
        add_reason(&g, DECISION_DENY, "profile: safe", "the profile 'safe' runs nothing", all);
    if (policy->max_command_length && facts->characters > policy->max_command_length)
        add_reason(&g, DECISION_DENY, "max_command_length",
                   "the text is longer than the policy allows", all);
    if (policy->plain && facts->has_metacharacters)
        add_reason(&g, DECISION_DENY, "plain",
                   "only plain commands are allowed: none of ; & | > < $ ` \\ !",
                   (struct shell_span){facts->metacharacter, facts->metacharacter + 1});
    for (const struct act *act = facts->acts; act; act = act->next)
        judge_act(&g, act);
    for (const struct finding *f = facts->findings; f; f = f->next)
        judge_finding(&g, f);
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (!verdict.rule)
        verdict.rule = facts->acts ? "files only" : "nothing to run";
    *ret = verdict;
    return 0;
}

int judge_script(const struct judge *judge, struct arena *arena, const struct facts *facts,
                 struct verdict *ret, struct err *e)
{
    struct verdict verdict;
    struct judging g = begin(judge, arena, &verdict);
    const struct shell_span all = {0, (uint32_t)facts->text_len};
    g.script = true;
    verdict.facts = facts;
    if (judge->policy->refused)
        add_reason(&g, DECISION_DENY, "profile: safe", "the profile 'safe' runs nothing", all);
    for (const struct act *act = facts->acts; act; act = act->next) {
        if (act->name)
            judge_name(&g, act);
        else
            add_reason(&g, DECISION_DENY, "name", "the program is not known", act->span);
    }
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (!facts->acts)
        add_reason(&g, DECISION_DENY, "name", "there is no program", all);
    *ret = verdict;
    return 0;
}

int judge_unread(const struct judge *judge, struct arena *arena, const struct shell_error *error,
                 struct verdict *ret)
{
    struct verdict verdict;
    struct judging g = begin(judge, arena, &verdict);
    const char *reason =
        arena_format(arena, "line %u, column %u: %s", error->line, error->column, error->message);
    add_reason(&g, DECISION_DENY, "parse", reason ? reason : "the text cannot be read",
               (struct shell_span){error->offset, error->offset + 1});
    *ret = verdict;
    return 0;
}

/* --- programs ------------------------------------------------------------------------------- */

/* Whether a person has said yes to this rule. */
static bool is_confirmed(const struct verdict *confirmed, const char *rule)
{
    for (const struct verdict_reason *r = confirmed ? confirmed->reasons : NULL; r; r = r->next) {
        if (r->decision == DECISION_CONFIRM && strcmp(r->rule, rule) == 0)
            return true;
    }
    return false;
}

/* The pattern behind a rule that judge_listed has put down. */
static const struct policy_pattern *pattern_of(const struct policy_patterns *patterns,
                                               const char *text)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (!patterns->items[i].lifted && strcmp(patterns->items[i].text, text) == 0)
            return &patterns->items[i];
    }
    return NULL;
}

/* What opens it: an entry of the built-in list is lifted, one of a file is taken out there. */
static const char *key_of(struct judging *g, const char *rule)
{
    static const char deny[] = "deny: ", confirm[] = "confirm: ";
    const struct policy *policy = g->judge->policy;
    bool denies = strncmp(rule, deny, sizeof(deny) - 1) == 0;
    const char *text = rule + (denies ? sizeof(deny) : sizeof(confirm)) - 1;
    const struct policy_pattern *p = pattern_of(denies ? &policy->deny : &policy->confirm, text);
    const char *key = denies ? "shell.deny" : "shell.confirm";
    if (p && denies && p->origin.layer == LAYER_BUILTIN)
        return "shell.unblock";
    return p && p->origin.file ? say(g, "%s in %s:%u", key, p->origin.file, p->origin.line) : key;
}

int judge_program(const struct judge *judge, struct arena *arena, const struct act *act,
                  const struct verdict *confirmed, struct program_verdict *ret, struct err *e)
{
    struct verdict verdict;
    struct judging g = begin(judge, arena, &verdict);
    struct program_verdict answer = {.decision = DECISION_ALLOW};
    if (act->name) {
        judge_listed(&g, &judge->deny, act, DECISION_DENY, "deny");
        judge_listed(&g, &judge->confirm, act, DECISION_CONFIRM, "confirm");
    }
    /* The strictest comes first. */
    for (const struct verdict_reason *r = verdict.reasons; r && !answer.rule; r = r->next) {
        if (r->decision == DECISION_CONFIRM && is_confirmed(confirmed, r->rule))
            continue;
        answer = (struct program_verdict){r->decision, r->rule, key_of(&g, r->rule)};
    }
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = answer;
    return 0;
}

static bool has_rule(const struct index *index, const char *name)
{
    return is_named(index, first_named(index, name), name);
}

bool judge_has_rule(const struct judge *judge, const char *name)
{
    return has_rule(&judge->deny, name) || has_rule(&judge->confirm, name) || judge->has_paths;
}

bool judge_has_paths(const struct judge *judge)
{
    return judge->has_paths;
}

bool judge_is_listed(const struct judge *judge, const struct act *act, bool mandate)
{
    return mandate ? is_mandated(judge, act) : allowed_by(&judge->allow, act) != NULL;
}
