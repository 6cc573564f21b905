/* Acts: a command line, wherever it comes from, becomes one, and what it runs becomes more. */
#include "base/path.h"
#include "facts/internal.h"

struct act *act_add(struct walk *w, const struct fact_word *words, size_t count,
                    struct shell_span span)
{
    if (w->facts->act_count >= ACTS_MAX) {
        if (!w->bound_told)
            finding_add(w, FINDING_BOUND, "the text", "has more commands than are looked at", span);
        w->bound_told = true;
        return NULL;
    }
    struct act *act = arena_take(w->arena, sizeof(*act));
    if (!act)
        return NULL;
    *act = (struct act){.words = words, .word_count = count, .via = w->via, .span = span};
    if (w->last_act)
        w->last_act->next = act;
    else
        w->facts->acts = act;
    w->last_act = act;
    w->facts->act_count++;
    return act;
}

void act_paths(struct act *act, struct fact_path *paths)
{
    static const struct {
        unsigned mode;
        enum effect effect;
    } effects[] = {
        {PATH_READ, EFFECT_READS}, {PATH_WRITE, EFFECT_WRITES}, {PATH_DELETE, EFFECT_DELETES}};
    if (!paths)
        return;
    if (act->last_path)
        act->last_path->next = paths;
    else
        act->paths = paths;
    for (; paths; paths = paths->next) {
        act->last_path = paths;
        for (size_t i = 0; !paths->loose && i < 3; i++) {
            if (paths->mode & effects[i].mode)
                act->effects = (uint16_t)(act->effects | effects[i].effect);
        }
    }
}

struct finding *finding_add(struct walk *w, enum finding_kind kind, const char *what,
                            const char *why, struct shell_span span)
{
    /* Loops and calls come by the same place again. */
    if (span.from == 0 && span.to == 0)
        span = span_of(w, span);
    for (struct finding *f = w->facts->findings; f; f = f->next) {
        if (f->kind == kind && f->span.from == span.from && f->span.to == span.to && f->what &&
            what && strcmp(f->what, what) == 0)
            return f;
        if (w->finding_count > SAME_LOOKED_AT) /* but not at any price */
            break;
    }
    struct finding *f = arena_take(w->arena, sizeof(*f));
    if (!f)
        return NULL;
    *f = (struct finding){.kind = kind, .what = what ? what : "", .why = why, .span = span};
    if (w->last_finding)
        w->last_finding->next = f;
    else
        w->facts->findings = f;
    w->last_finding = f;
    w->finding_count++;
    return f;
}

static struct stream unknown_output(void)
{
    return (struct stream){.source = SOURCE_OUTPUT, .text = ""};
}

/* The name is not known before it runs. */
static struct stream run_unknown(struct walk *w, const struct fact_word *words, size_t count,
                                 struct shell_span span, struct stream in, struct act **ret)
{
    *ret = act_add(w, words, count, span);
    enum finding_kind kind = words[0].state == WORD_KNOWN           ? FINDING_NAME
                             : words[0].source == SOURCE_DECODED    ? FINDING_DECODED
                             : words[0].source == SOURCE_DOWNLOADED ? FINDING_DOWNLOAD
                                                                    : FINDING_NAME;
    finding_add(w, kind, "the name of the command",
                words[0].state == WORD_PATTERN ? "is a pattern for file names"
                                               : "is not known before it runs",
                words[0].span);
    if (words[0].many && count > 1) { /* it may vanish, and the next word is the name */
        struct act *other = NULL;
        act_run(w, words + 1, count - 1, span, in, &other);
    }
    return unknown_output();
}

static const char *const system_directories[] = {
    "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/",
};

bool facts_is_system_command(const char *path)
{
    for (size_t i = 0; i < sizeof(system_directories) / sizeof(*system_directories); i++) {
        size_t len = strlen(system_directories[i]);
        if (strncmp(path, system_directories[i], len) == 0 && !strchr(path + len, '/'))
            return path[len] != '\0';
    }
    return false;
}

/* /usr/bin/ls is ls; ./ls and /tmp/ls are not. */
static void name_by_path(struct walk *w, struct act *act, const struct fact_word *name)
{
    struct fact_path *path = path_make(w, w->cwd, name, PATH_RUN | PATH_READ);
    if (path && path->text && !path->next && facts_is_system_command(path->text)) {
        act->flags |= ACT_SYSTEM_PATH;
        return; /* the box shows these anyway */
    }
    act->flags |= ACT_OTHER_PATH;
    bool inside = path != NULL;
    for (const struct fact_path *p = path; p; p = p->next)
        inside &= p->text && path_is_below(p->text, w->host->workspace) &&
                  (!p->real || path_is_below(p->real, w->host->workspace));
    if (inside)
        act->flags |= ACT_WORKSPACE;
    act_paths(act, path);
}

/* What it does to directories that a later cd counts on. */
static void note_directories(struct walk *w, const struct act *act)
{
    if (!act->known || (act->effects & (EFFECT_DELETES | EFFECT_RUNS)))
        w->removes = true;
}

static struct stream run_known(struct walk *w, struct act *act, struct stream in)
{
    const struct fact_word *name = &act->words[0];
    const char *slash = memrchr(name->text, '/', name->len);
    act->name = slash ? slash + 1 : name->text;
    if (slash)
        name_by_path(w, act, name);
    act->known = knowledge_find(w->host->knowledge, act->name, strlen(act->name));
    act->first_operand = act->word_count;
    if (act->known)
        act->effects |= act->known->effects;
    const struct act *via = w->via;
    w->via = act;
    w->nesting++;
    bool done = false;
    if (act->known && (act->known->flags & KNOWN_BUILTIN) && !slash && !w->programs_only) {
        act->flags |= ACT_BUILTIN;
        done = builtin_run(w, act, in);
    }
    if (!done)
        in = apply_knowledge(w, act, in);
    /* ./env is called like a wrapper, and may do as it likes. */
    if (act->flags & ACT_OTHER_PATH)
        act->flags &= ~(unsigned)ACT_TRANSPARENT;
    w->nesting--;
    w->via = via;
    note_directories(w, act);
    return output_of(w, act, in);
}

struct stream act_run(struct walk *w, const struct fact_word *words, size_t count,
                      struct shell_span span, struct stream in, struct act **ret)
{
    if (count == 0)
        return unknown_output();
    if (w->nesting >= NESTING_MAX) {
        finding_add(w, FINDING_BOUND, "commands", "run each other deeper than is looked at", span);
        return unknown_output();
    }
    if (words[0].state != WORD_KNOWN || words[0].many)
        return run_unknown(w, words, count, span, in, ret);
    bool skip = w->programs_only || w->skip_function;
    w->skip_function = false;
    struct function *function = skip ? NULL : state_function(w, words[0].text, words[0].len);
    if (function && function->definitions) {
        struct act *act = act_add(w, words, count, span);
        *ret = act;
        if (act) {
            act->name = words[0].text;
            act->flags |= ACT_FUNCTION | ACT_TRANSPARENT;
            act->first_operand = count;
        }
        bool maybe = function->maybe;
        const struct act *via = w->via;
        w->via = act ? act : via;
        struct stream out = walk_call(w, function, words + 1, count - 1, in);
        w->via = via;
        if (!maybe)
            return out;
    }
    struct act *act = act_add(w, words, count, span);
    *ret = act;
    if (!act)
        return unknown_output();
    if (words[0].made && !w->programs_only && sites_is_setter(words[0].text)) {
        /* what it sets was not seen before */
        finding_add(w, FINDING_NAME, words[0].text, "sets variables, and its name is put together",
                    words[0].span);
        w->blind = true;
        w->cwd = NULL;
    }
    return run_known(w, act, in);
}
