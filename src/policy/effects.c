/* See effects.h. */
#include "policy/effects.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/path.h"
#include "base/path_index.h"

/*
 * Files that programs outside run, or take orders from, by themselves. A pattern without a slash
 * means a name in any directory; `*` in one stands for names without a slash.
 */
static const struct {
    const char *pattern;
    const char *what;
    bool held; /* else it is only listed */
} autorun[] = {
    {".git/hooks/*", "git runs it", true},
    {".git/config", "git takes programs to run from it", true},
    {".git/config.worktree", "git takes programs to run from it", true},
    {".git/commondir", "git takes settings from where it leads", true},
    {".git/info/attributes", "git takes programs to run from it", true},
    {".git/modules/*", "git takes programs to run from it", true},
    {".envrc", "direnv runs it", true},
    {".husky/*", "git runs it", true},
    {".githooks/*", "git may run it", true},
    {".vscode/tasks.json", "the editor runs it", true},
    {".vscode/settings.json", "the editor takes programs to run from it", true},
    {".vscode/launch.json", "the editor takes programs to run from it", true},
    {".idea/*", "the editor takes programs to run from it", true},
    {".claude/*", "an agent takes orders from it", true},
    {".cursor/*", "an agent takes orders from it", true},
    {".codex/*", "an agent takes orders from it", true},
    {".gemini/*", "an agent takes orders from it", true},
    {".mcp.json", "an agent starts programs from it", true},
    {".devcontainer/*", "the editor runs it", true},
    {".gitattributes", "git takes names of filters from it", false},
    {".gitmodules", "git fetches from where it says", false},
    {".npmrc", "npm takes settings from it", false},
    {".yarnrc.yml", "yarn takes a program to run from it", false},
    {".pre-commit-config.yaml", "pre-commit runs it", false},
    {".github/workflows/*", "a server runs it", false},
    {".gitlab-ci.yml", "a server runs it", false},
    {"package.json", "npm runs its scripts", false},
    {"Makefile", "make runs it", false},
    {"makefile", "make runs it", false},
    {"GNUmakefile", "make runs it", false},
    {"justfile", "just runs it", false},
    {"build.rs", "cargo runs it", false},
    {"setup.py", "pip runs it", false},
    {"conftest.py", "pytest runs it", false},
    {"sitecustomize.py", "python runs it", false},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct judging {
    struct arena *arena;
    const struct policy *policy;
    const char *workspace, *home;
    struct policy_effect_verdict *verdict;
    struct path_index index; /* of the effects */
};

static void add_reason(struct judging *j, enum decision decision, const char *rule,
                       const char *path, const char *reason)
{
    struct policy_effect_verdict *v = j->verdict;
    bool stricter = v->count == 0 || decision < v->decision;
    if (stricter)
        v->decision = decision;
    /* The strictest comes first, whatever is left out. */
    size_t at = stricter ? 0 : v->count;
    if (stricter && v->count && v->count < COUNT(v->reasons))
        v->reasons[v->count] = v->reasons[0];
    if (at < COUNT(v->reasons))
        v->reasons[at] = (struct policy_effect_reason){decision, rule, reason, path};
    if (v->count < COUNT(v->reasons))
        v->count++;
}

/* A path of the policy's, absolute; NULL: it is below a home that nobody has. */
static const char *absolute(const struct judging *j, const char *text)
{
    if (text[0] == '/')
        return text;
    if (text[0] == '~' && (text[1] == '/' || text[1] == '\0'))
        return j->home ? arena_format(j->arena, "%s%s", j->home, text + 1) : NULL;
    return arena_format(j->arena, "%s/%s", j->workspace, text);
}

static void forbid(struct judging *j, const char *rule, const struct policy_effect *effect,
                   const char *text, const char *what)
{
    if (!effect->harmless)
        add_reason(j, DECISION_DENY, rule, effect->path,
                   arena_format(j->arena, "'%s' is %s", text, what));
}

/* What was there is kept by walls; this is for what was not. */
static void judge_listed(struct judging *j, const struct policy_texts *texts, const char *rule,
                         const char *what, const struct policy_effect *effects)
{
    const struct path_index *index = &j->index;
    for (size_t i = 0; i < texts->count; i++) {
        const char *listed = absolute(j, texts->items[i].text);
        if (!listed)
            continue;
        for (size_t k = path_index_first(index, listed);
             k < index->count && path_is_below(index->items[k].path, listed); k++)
            forbid(j, rule, &effects[index->items[k].value], texts->items[i].text, what);
        /* A directory on the way to it may be made; a link may not. */
        for (const char *slash = strchr(listed + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            const char *above = arena_copy(j->arena, listed, (size_t)(slash - listed));
            size_t k = above ? path_index_first(index, above) : index->count;
            for (; k < index->count && strcmp(index->items[k].path, above) == 0; k++) {
                if (effects[index->items[k].value].target)
                    forbid(j, rule, &effects[index->items[k].value], texts->items[i].text, what);
            }
        }
    }
}

static bool matches(const char *relative, const char *pattern)
{
    const char *slash = strrchr(relative, '/');
    if (!strchr(pattern, '/'))
        return strcmp(slash ? slash + 1 : relative, pattern) == 0;
    /* In any directory: a project may be one of several. What `*` ends may be deeper. */
    size_t len = strlen(pattern), fixed = pattern[len - 1] == '*' ? len - 1 : len;
    for (const char *at = relative; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, pattern, fixed) == 0 && (fixed < len ? at[fixed] != '\0' : at[len] == '\0'))
            return true;
    }
    return false;
}

/* Whether a pattern's directory, or one above it, is what a path ends with: `x/.git` of
 * `.git/hooks/`. */
static bool leads_to(const char *relative, const char *pattern)
{
    for (const char *slash = strchr(pattern, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t dir = (size_t)(slash - pattern), len = strlen(relative);
        if (len >= dir && strncmp(relative + len - dir, pattern, dir) == 0 &&
            (len == dir || relative[len - dir - 1] == '/'))
            return true;
    }
    return false;
}

/* A link in the place of such a directory, and the file that says where a repository is. */
static void judge_stand_in(struct judging *j, const struct policy_effect *effect,
                           const char *relative)
{
    const char *slash = strrchr(relative, '/');
    bool pointer = strcmp(slash ? slash + 1 : relative, ".git") == 0;
    for (size_t i = 0; i < COUNT(autorun) && (effect->target || pointer); i++) {
        if (!autorun[i].held || !leads_to(relative, autorun[i].pattern))
            continue;
        add_reason(j, DECISION_CONFIRM, "autorun", effect->path,
                   arena_format(j->arena,
                                "it leads elsewhere, and %s later, outside of the sandbox",
                                autorun[i].what));
        return;
    }
}

static void judge_autorun(struct judging *j, const struct policy_effect *effect)
{
    struct policy_effect_verdict *v = j->verdict;
    if (effect->kind == EFFECT_DELETED || effect->harmless ||
        (effect->is_directory && !effect->in_repository))
        return;
    const char *relative = effect->path;
    if (path_is_below(relative, j->workspace) && relative[strlen(j->workspace)])
        relative += strlen(j->workspace) + 1;
    if (effect->in_repository)
        relative = arena_format(j->arena, ".git/%s", effect->in_repository);
    if (!relative)
        return; /* out of memory, which is told at the end */
    for (size_t i = 0; i < COUNT(autorun); i++) {
        if (!matches(relative, autorun[i].pattern))
            continue;
        if (autorun[i].held)
            add_reason(j, DECISION_CONFIRM, "autorun", effect->path,
                       arena_format(j->arena, "%s later, outside of the sandbox", autorun[i].what));
        else if (v->review_count < COUNT(v->review))
            v->review[v->review_count++] =
                arena_format(j->arena, "'%s' was changed: %s later, outside of the sandbox",
                             relative, autorun[i].what);
        return;
    }
    judge_stand_in(j, effect, relative);
}

/* What a link in between leads to is not known here: a target that climbs behind a name counts as
 * one that leads out. Below /proc everything can be. */
static bool leads_out(const struct policy_effect *effect)
{
    static const char *const system[] = {"/usr",  "/bin", "/lib", "/lib64",
                                         "/sbin", "/opt", "/etc", "/dev"};
    const char *target = effect->target;
    if (target[0] == '/') {
        if (strstr(target, "/.."))
            return true;
        for (size_t i = 0; i < COUNT(system); i++) {
            if (path_is_below(target, system[i]))
                return false;
        }
        return !path_is_below(target, effect->root);
    }
    /* How far below the workspace the link is, and how far its parts climb. */
    long depth = 0;
    for (const char *at = effect->path + strlen(effect->root); (at = strchr(at, '/')); at++)
        depth++;
    depth--;
    bool named = false;
    for (const char *part = target; *part;) {
        size_t len = strcspn(part, "/");
        if (len == 2 && part[0] == '.' && part[1] == '.') {
            if (named || --depth < 0)
                return true;
        } else if (len && !(len == 1 && part[0] == '.')) {
            named = true;
        }
        part += len + strspn(part + len, "/");
    }
    return false;
}

int policy_judge_effects(struct arena *arena, const struct policy *policy, const char *workspace,
                         const char *home, const struct policy_effect *effects, size_t count,
                         struct policy_effect_verdict *ret)
{
    *ret = (struct policy_effect_verdict){.decision = DECISION_ALLOW};
    struct judging j = {
        .arena = arena, .policy = policy, .workspace = workspace, .home = home, .verdict = ret};
    uint64_t deleted = 0, bytes = 0;
    j.index.items = arena_alloc_array(arena, count + 1, sizeof(*j.index.items));
    if (!j.index.items)
        return -ENOMEM;
    for (; j.index.count < count; j.index.count++)
        j.index.items[j.index.count] =
            (struct path_entry){effects[j.index.count].path, j.index.count};
    path_index_sort(&j.index);
    judge_listed(&j, &policy->protect, "protect", "protected", effects);
    judge_listed(&j, &policy->hide, "hide", "hidden", effects);
    for (size_t i = 0; i < count; i++) {
        const struct policy_effect *effect = &effects[i];
        deleted += effect->kind == EFFECT_DELETED && !effect->is_directory;
        bytes += effect->bytes;
        judge_autorun(&j, effect);
        if (effect->secret)
            add_reason(
                &j, DECISION_CONFIRM, "secret", effect->path,
                arena_format(arena, "it holds a secret (%s), and git tracks it", effect->secret));
        if (effect->target && leads_out(effect))
            add_reason(&j, DECISION_CONFIRM, "link", effect->path,
                       arena_format(arena, "a link that leads out, to '%s'", effect->target));
    }
    if (policy->effects.delete_files && deleted > policy->effects.delete_files)
        add_reason(&j, DECISION_CONFIRM, "effects.delete_files", NULL,
                   arena_format(arena, "%llu files are deleted, more than %llu",
                                (unsigned long long)deleted,
                                (unsigned long long)policy->effects.delete_files));
    if (policy->effects.write_bytes && bytes > policy->effects.write_bytes)
        add_reason(&j, DECISION_CONFIRM, "effects.write_bytes", NULL,
                   arena_format(arena, "%llu bytes are written, more than %llu",
                                (unsigned long long)bytes,
                                (unsigned long long)policy->effects.write_bytes));
    return arena->failed ? -ENOMEM : 0;
}
