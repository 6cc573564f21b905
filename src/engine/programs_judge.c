/*
 * Whether a program that stands before its first instruction runs; see programs.h. It is judged as
 * everything that it is: by each name that it goes by, by the file that it is, as the script and as
 * what reads the script, and a loader as what it loads. The strictest counts.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/files.h"
#include "engine/programs.h"

struct trial {
    const struct programs *programs;
    const struct files *files;
    struct arena *arena;
    const struct sandbox_program *program;
    struct program_verdict verdict; /* the strictest so far */
    bool failed;
    bool inside; /* it runs another in its own process, and nobody sees that one start */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The act of `word` with the arguments behind the one at `from`; NULL: it cannot be made. */
static const struct act *act_as(struct trial *t, const char *word, size_t from)
{
    const struct sandbox_program *program = t->program;
    const struct act *act = NULL;
    struct err ignored;
    size_t count = from < program->argc ? program->argc - from : 1;
    const char **words = arena_alloc_array(t->arena, count, sizeof(*words));
    if (words) {
        words[0] = word;
        for (size_t i = 1; i < count; i++)
            words[i] = program->argv[from + i];
        if (facts_of_program(t->arena, &t->programs->setting->decider.host, words, count, &act,
                             &ignored) < 0)
            act = NULL;
    }
    t->failed |= !act;
    return act;
}

static void judge_as(struct trial *t, const char *word, size_t from)
{
    const struct judge *judge = t->programs->setting->decider.judge;
    struct program_verdict verdict;
    struct err ignored;
    const char *name = base_name(word);
    if (!name[0] || !judge_has_rule(judge, name))
        return;
    const struct act *act = act_as(t, word, from);
    if (!act)
        return;
    if (judge_program(judge, t->arena, act, t->programs->confirmed, &verdict, &ignored) < 0)
        t->failed = true;
    else if (verdict.rule && (!t->verdict.rule || verdict.decision < t->verdict.decision))
        t->verdict = verdict;
}

/* --- files ---------------------------------------------------------------------------------- */

/* Whether the list of what is allowed has this name, and PATH means this file by it. */
static bool is_allowed_by_name(struct trial *t, const char *name, size_t from)
{
    const struct act *act = act_as(t, name, from);
    return act && judge_is_listed(t->programs->setting->decider.judge, act, false);
}

/*
 * A file that a rule's name means, under the name `called`. Where PATH finds that very file by
 * `called`, too, the two may be different commands: links to one file that goes by its name, or
 * small scripts that are all alike.
 */
static bool is_another(struct trial *t, const struct files_entry *entry, const char *called,
                       size_t from, const struct stat *st, bool exact, bool several)
{
    bool link = false;
    if (strcmp(entry->name, called) == 0 || !files_is_found(t->files, called, st, &link))
        return false;
    return several || !exact || (!link && !entry->link) || is_allowed_by_name(t, called, from);
}

/* Judges a file by what it is; what it is called is judged elsewhere. Returns whether its first
 * argument chooses what it does, and whether it is a loader. */
static void judge_file(struct trial *t, int fd, const char *called, size_t from, bool *ret_argument,
                       bool *ret_loader)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        t->failed = true;
        return;
    }
    const struct files_entry *entry;
    bool exact, several = false;
    for (size_t at = 0; (entry = files_match(t->files, fd, &st, &at, &exact));) {
        several |= entry->kind == FILES_SEVERAL;
        if (entry->kind == FILES_SEVERAL)
            files_is_several(entry->name, ret_argument);
        *ret_loader |= entry->kind == FILES_LOADER;
    }
    for (size_t at = 0; (entry = files_match(t->files, fd, &st, &at, &exact));) {
        /* Many commands in one file: only what it is called, or told to be, says which. */
        if (entry->kind == FILES_NAMED && several && !files_is_several(entry->name, &(bool){0}))
            continue;
        if (entry->kind == FILES_NAMED && !is_another(t, entry, called, from, &st, exact, several))
            judge_as(t, entry->name, from);
    }
}

/* --- what it is ----------------------------------------------------------------------------- */

/* Where in the arguments the script is that the kernel put there; 0: nowhere near the front. */
static size_t find_script(const struct sandbox_program *program)
{
    enum { NEAR = 16 }; /* #! may lead to #! four times, with an argument each */
    for (size_t i = 1; program->script[0] && i < program->argc && i < NEAR; i++) {
        if (strcmp(program->argv[i], program->name) == 0)
            return i;
    }
    return 0;
}

static bool looks_like_loader(const char *name)
{
    return strcmp(name, "ld.so") == 0 || (strncmp(name, "ld-", 3) == 0 && strstr(name, ".so"));
}

static int file_of_word(const struct sandbox_program *program, int word)
{
    for (size_t i = 1; i < program->file_count; i++) {
        if (program->word[i] == word)
            return program->files[i];
    }
    return -1;
}

/* Whether a path leads to this file whatever the inside does: both lie where nobody writes. */
static bool is_settled(const char *path, int fd)
{
    static const char *const system[] = {"/usr/", "/bin/", "/sbin/", "/lib", "/opt/"};
    struct statvfs fs;
    bool named = false;
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
        named = named || strncmp(path, system[i], strlen(system[i])) == 0;
    return named && !strstr(path, "/..") && fd >= 0 && fstatvfs(fd, &fs) == 0 &&
           fs.f_flag & ST_RDONLY;
}

/* What a loader is given: the first word that is no option, and any that may be an option's value.
 */
static void judge_loaded(struct trial *t)
{
    const struct sandbox_program *program = t->program;
    bool option = true, found = false, none = false;
    size_t i = 1;
    for (; i < program->argc && i < WIRE_PROGRAM_WORDS_LOOKED_AT && !found; i++) {
        const char *word = program->argv[i];
        bool is_option = word[0] == '-';
        if (!is_option) {
            int fd = file_of_word(program, (int)i);
            judge_as(t, word, i);
            if (fd >= 0)
                judge_file(t, fd, base_name(word), i, &none, &none);
            found = !option || i == 1;
            /* The loader opens it after us: it must be what it is, and stay it. */
            t->failed |= found && !is_settled(word, fd);
        }
        option = is_option;
    }
    /* Past what is looked at nobody knows. */
    t->failed |= !found && i < program->argc;
    t->failed |= program->file_count == WIRE_PROGRAM_FILES;
}

/* The name of its file, without what the kernel adds to one that is gone. */
static const char *name_of_file(struct trial *t)
{
    static const char gone[] = " (deleted)";
    const char *path = t->program->path;
    size_t len = strlen(path), tail = sizeof(gone) - 1;
    if (len > tail && strcmp(path + len - tail, gone) == 0) {
        const char *copy = arena_copy(t->arena, path, len - tail);
        t->failed |= !copy;
        return copy ? copy : path;
    }
    return path;
}

/* What a shell or another interpreter is told to run is judged by its name, as if it were started.
 */
static void judge_run(struct trial *t, const char *word)
{
    const struct sandbox_program *program = t->program;
    const struct act *act = act_as(t, word, 0);
    for (const struct fact_path *p = act ? act->paths : NULL; p; p = p->next) {
        for (size_t i = 1; p->text && p->mode & PATH_RUN && i < program->argc; i++) {
            if (strcmp(base_name(program->argv[i]), base_name(p->text)) == 0)
                judge_as(t, p->text, i);
        }
    }
}

static void judge_all(struct trial *t)
{
    const struct sandbox_program *program = t->program;
    const char *path = name_of_file(t), *called = base_name(program->name);
    size_t script = find_script(program);
    bool argument = false, loader = looks_like_loader(base_name(path)), none = false,
         chosen = false;
    judge_as(t, path, 0);
    if (strcmp(program->argv[0], base_name(path)) != 0)
        judge_as(t, program->argv[0], 0);
    if (program->script[0]) {
        judge_as(t, program->script, script);
        int fd = file_of_word(program, WIRE_PROGRAM_SCRIPT);
        if (fd >= 0)
            judge_file(t, fd, called, script, &none, &none);
        for (size_t i = 1; i <= script; i++) { /* what is between, too: #! that leads to #! */
            judge_as(t, program->argv[i], i);
            fd = file_of_word(program, (int)i);
            if (fd >= 0)
                judge_file(t, fd, base_name(program->argv[i]), i, &none, &none);
        }
        t->failed |= program->file_count == WIRE_PROGRAM_FILES;
        called = base_name(program->argv[0]);
    } else if (strcmp(called, base_name(path)) != 0) {
        judge_as(t, program->name, 0);
    }
    judge_run(t, called);
    judge_run(t, base_name(path));
    judge_file(t, program->files[0], called, 0, &argument, &loader);
    int named = file_of_word(program, WIRE_PROGRAM_LOADER);
    if (named >= 0)
        judge_file(t, named, "", 0, &none, &none);
    files_is_several(base_name(path), &argument);
    files_is_several(called, &chosen);
    t->inside = loader || chosen || strncmp(called, "qemu-", 5) == 0 ||
                (argument && strcmp(called, base_name(program->argv[0])) != 0);
    for (size_t i = 1; argument && i < program->argc; i++) {
        const char *value = strchr(program->argv[i], '='); /* --coreutils-prog=touch */
        judge_as(t, value && program->argv[i][0] == '-' ? value + 1 : program->argv[i], i);
        argument = files_is_several(base_name(program->argv[i]), &(bool){0});
    }
    if (loader && program->argc > 1)
        judge_loaded(t);
}

/* --- mandates ------------------------------------------------------------------------------- */

/* The act as a text: each word between quotes in which nothing means anything. */
static bool write_as_text(const struct act *act, struct buf *ret)
{
    for (size_t i = 0; i < act->word_count; i++) {
        buf_append(ret, " '", 2);
        for (const char *c = act->words[i].text; *c; c++)
            buf_append(ret, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
        buf_append(ret, "'", 1);
    }
    return !ret->failed;
}

static bool is_listed(const struct trial *t, const struct act *act)
{
    return judge_is_listed(t->programs->setting->decider.judge, act, true);
}

/* A shell that is given a text does what that says, which must be on the list, builtins too. */
static bool is_mandated_text(struct trial *t, const struct act *shell)
{
    const unsigned others = ACT_TRANSPARENT | ACT_ASSUMED; /* acts of their own say what they do */
    const struct shell_tree *tree;
    struct verdict verdict = {0};
    struct err ignored;
    struct buf text;
    buf_init(&text, t->arena->allocator, NACRE_TEXT_MAX);
    bool listed = write_as_text(shell, &text) &&
                  engine_decide(&t->programs->setting->decider, t->arena, text.data, text.len, NULL,
                                &verdict, &tree, &ignored) == 0 &&
                  verdict.facts;
    for (const struct act *act = listed ? verdict.facts->acts : NULL; act; act = act->next)
        listed = listed && act->name && (act->flags & others || is_listed(t, act));
    buf_release(&text);
    return listed;
}

static bool is_mandated_as(struct trial *t, const char *word, size_t from)
{
    const struct act *act = act_as(t, word, from);
    if (!act || is_listed(t, act))
        return act;
    return act->flags & ACT_TRANSPARENT && !t->inside &&
           (act->known->kind != KIND_SHELL || is_mandated_text(t, act));
}

/* By a name by which PATH finds it, or by where it is. */
static bool is_mandated_file(struct trial *t, int fd, const char *called, const char *path,
                             size_t from)
{
    struct stat st;
    bool link;
    if (fstat(fd, &st) < 0)
        return false;
    if (files_is_found(t->files, called, &st, &link) && is_mandated_as(t, called, from))
        return true;
    const char *own = base_name(path);
    if (files_is_found(t->files, own, &st, &link) && is_mandated_as(t, own, from))
        return true;
    if (path[0] != '/')
        return false;
    if (is_mandated_as(t, path, from))
        return true;
    /* As it is written from where the text runs: ./x or x/y. */
    const char *cwd = t->programs->setting->workspace.cwd;
    size_t len = strlen(cwd);
    if (strncmp(path, cwd, len) != 0 || path[len] != '/')
        return false;
    const char *dotted = arena_format(t->arena, "./%s", path + len + 1);
    return (dotted && is_mandated_as(t, dotted, from)) ||
           (strchr(path + len + 1, '/') && is_mandated_as(t, path + len + 1, from));
}

/* env, that a script of the list names, has found what reads it. */
static bool goes_on_granted(const struct trial *t)
{
    const struct programs *p = t->programs;
    const struct sandbox_program *program = t->program;
    struct stat st;
    bool link;
    if (program->before <= p->replaced || program->before - p->replaced > p->count)
        return false;
    /* Whoever chose PATH did not choose the file: it is the one that the box's own PATH finds. */
    if (!program->file_count || !program->argc || fstat(program->files[0], &st) < 0 ||
        !files_is_found(t->files, base_name(program->argv[0]), &st, &link))
        return false;
    const struct executed *before = &p->items[program->before - p->replaced - 1];
    if (!before->granted || before->argc != program->argc + 1 || before->argc != before->argc_total)
        return false;
    for (size_t i = 0; i < program->argc; i++) {
        if (strcmp(before->argv[i + 1], program->argv[i]) != 0)
            return false;
    }
    return true;
}

/* How many words the first line of a script puts in front of it, if they are those behind `at`. */
static size_t words_before(int fd, const char *const *argv, size_t at)
{
    static const char blank[] = " \t";
    char line[256]; /* as much as the kernel reads */
    ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
    if (n < 2 || memcmp(line, "#!", 2) != 0)
        return 0;
    line[n] = '\0';
    char *name = line + 2 + strspn(line + 2, blank), *end = name + strcspn(name, "\n");
    while (end > name && strchr(blank, end[-1]))
        end--;
    *end = '\0';
    char *option = name + strcspn(name, blank);
    if (*option)
        *option++ = '\0';
    option += strspn(option, blank);
    const size_t count = *option ? 2 : 1;
    bool same = count <= at && strcmp(argv[at - count], name) == 0 &&
                (count == 1 || strcmp(argv[at - 1], option) == 0);
    return same ? count : 0;
}

/* Whether what runs is what the scripts name that are there now, not those that a link led to when
 * the kernel looked. */
static bool is_read_by_it(const struct sandbox_program *program, int fd, size_t at)
{
    for (size_t count; at > 0; at -= count) {
        count = fd < 0 ? 0 : words_before(fd, program->argv, at);
        if (!count)
            return false;
        fd = file_of_word(program, (int)(at - count));
    }
    return true;
}

static bool is_mandated(struct trial *t, bool *ret_granted)
{
    const struct sandbox_program *program = t->program;
    size_t script = find_script(program);
    int fd = script ? file_of_word(program, WIRE_PROGRAM_SCRIPT) : -1;
    if (fd >= 0 && is_read_by_it(program, fd, script) &&
        is_mandated_file(t, fd, base_name(program->name), program->script, script)) {
        *ret_granted = true;
        return true;
    }
    if (goes_on_granted(t))
        return true;
    return !program->script[0] &&
           is_mandated_file(t, program->files[0], base_name(program->name), program->path, 0);
}

/* --- the whole ------------------------------------------------------------------------------ */

/* The shell that runs the text, which was judged. */
static bool is_the_shell(const struct programs *p, const struct sandbox_program *program)
{
    size_t n = 0;
    if (program->id != 1)
        return false;
    for (size_t i = 0; i < p->plan->count; i++) {
        const struct plan_step *step = &p->plan->steps[i];
        if (step->kind != PLAN_ARG)
            continue;
        if (n >= program->argc || strcmp(program->argv[n++], step->text) != 0)
            return false;
    }
    return n > 0 && n == program->argc;
}

static bool stop(struct stopped *ret, const char *name, const char *rule, const char *key)
{
    *ret = (struct stopped){.name = name, .rule = rule, .key = key};
    return false;
}

bool programs_judge(const struct programs *p, const struct files *files, struct arena *arena,
                    const struct sandbox_program *program, struct stopped *ret, bool *ret_granted)
{
    struct trial t = {.programs = p, .files = files, .arena = arena, .program = program};
    if (!p->judges)
        return true;
    if (program->dark)
        return stop(ret, "a program", "it may not be read, so nobody knows what it is", NULL);
    if (!program->waits || is_the_shell(p, program))
        return true;
    judge_all(&t);
    if (t.verdict.rule)
        return stop(ret, program->name, t.verdict.rule, t.verdict.key);
    if (policy_has_mandate(p->setting->decider.policy) && !is_mandated(&t, ret_granted))
        return stop(ret, program->name, "mandate: it is not on the list of this call",
                    p->setting->decider.policy->session_mandate ? "configure" : "--allow");
    if (t.failed || arena->failed)
        return stop(ret, program->name, "it cannot be judged", NULL);
    return true;
}
