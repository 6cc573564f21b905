/* From a script to the command that runs it, and to what is said of it afterwards; see script.h. */
#include "engine/script.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

enum {
    COMMAND_MAX = 1 << 20, /* a command line; the kernel has its own bound */
    KNOWN_MAX = 384,       /* bytes of names in a message */
};

/* --- which program ---------------------------------------------------------------------------- */

/* What the box shows of the system are the host's own files. */
static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_found(const char *name, const char *search_path)
{
    char path[PATH_MAX];
    if (name[0] == '/')
        return is_program(name);
    for (size_t len; *search_path; search_path += len + (search_path[len] == ':')) {
        len = strcspn(search_path, ":");
        if (len &&
            snprintf(path, sizeof(path), "%.*s/%s", (int)len, search_path, name) < PATH_MAX &&
            is_program(path))
            return true;
    }
    return false;
}

/* The first that is there of the one that is named and those that may stand for it. */
static const char *choose_program(const struct policy_language *language, const char *search_path,
                                  bool *ret_found)
{
    const struct policy_texts *words = language->build.count ? &language->build : &language->run;
    *ret_found = true;
    if (is_found(words->items[0].text, search_path))
        return words->items[0].text;
    for (size_t i = 0; i < language->programs.count; i++) {
        if (is_found(language->programs.items[i].text, search_path))
            return language->programs.items[i].text;
    }
    *ret_found = false;
    return words->items[0].text;
}

static int unknown_language(const struct policy *policy, const char *name, struct err *e)
{
    char known[KNOWN_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i < policy->languages.count && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                                 policy->languages.items[i].name);
    return err_set(e, -EINVAL, "unknown language '%.64s'; there are: %s", name, known);
}

/* --- the command line ------------------------------------------------------------------------- */

/* A word that bash reads back as it is. */
static void append_quoted(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:+@";
    if (*word && strspn(word, plain) == strlen(word)) {
        buf_append_text(out, word);
        return;
    }
    buf_append_byte(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_append_text(out, "'\\''");
        else
            buf_append_byte(out, *word);
    }
    buf_append_byte(out, '\'');
}

/* A word of a template, with {file} and {out} put in. */
static const char *fill_word(struct arena *arena, const char *word, const char *file,
                             const char *out)
{
    struct buf text;
    buf_init(&text, arena->allocator, COMMAND_MAX);
    while (*word) {
        bool is_file = strncmp(word, "{file}", 6) == 0, is_out = strncmp(word, "{out}", 5) == 0;
        if (is_file || is_out) {
            buf_append_text(&text, is_file ? file : out);
            word += is_file ? 6 : 5;
        } else {
            buf_append_byte(&text, *word++);
        }
    }
    const char *copy = text.failed ? NULL : arena_copy(arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

static void append_words(struct arena *arena, struct buf *out, const struct policy_texts *words,
                         const char *program, const char *file, const char *made)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *word =
            i == 0 && program ? program : fill_word(arena, words->items[i].text, file, made);
        if (i)
            buf_append_byte(out, ' ');
        append_quoted(out, word ? word : "");
    }
}

static void append_arguments(struct buf *out, const char *const *args)
{
    for (; args && *args; args++) {
        buf_append_byte(out, ' ');
        append_quoted(out, *args);
    }
}

/* What is built is built first, and takes the shell's place. */
static void append_command(struct arena *arena, const struct policy_language *language,
                           const char *program, const char *file, const char *made,
                           const char *const *args, struct buf *out)
{
    bool builds = language->build.count > 0;
    if (builds) {
        append_words(arena, out, &language->build, program, file, made);
        buf_append_text(out, " && exec ");
    }
    append_words(arena, out, &language->run, builds ? NULL : program, file, made);
    append_arguments(out, args);
}

/* A script of bash: its arguments are a part of the text, so that they are judged with it. */
static void append_text(const char *bytes, size_t len, const char *const *args, struct buf *out)
{
    if (args && *args) {
        buf_append_text(out, "set --");
        append_arguments(out, args);
        buf_append_byte(out, '\n');
    }
    buf_append(out, bytes, len);
}

static int make_text(struct arena *arena, const struct policy *policy, const char *search_path,
                     const nacre_run_options *o, const char *dir, const char *out_dir,
                     struct script *script, struct err *e)
{
    const struct policy_language *language = policy_find_language(policy, script->language);
    struct buf text;
    bool found = true;
    if (!language)
        return unknown_language(policy, script->language, e);
    buf_init(&text, arena->allocator,
             language->command ? NACRE_TEXT_MAX + COMMAND_MAX : COMMAND_MAX);
    if (language->command) {
        append_text(script->bytes, script->len, o->script_args, &text);
    } else {
        const char *program = choose_program(language, search_path, &found);
        const char *ending = language->ending ? language->ending : "";
        const char *file =
            arena_format(arena, "%s/synth-%s%s%s", dir, language->name, *ending ? "." : "", ending);
        const char *made = arena_format(arena, "%s/synth-%s", out_dir, language->name);
        if (!file || !made) {
            buf_release(&text);
            return err_set(e, -ENOMEM, "out of memory");
        }
        append_command(arena, language, program, file, made, o->script_args, &text);
        script->file =
            (struct plan_script){.path = file, .bytes = script->bytes, .len = script->len};
        script->missing = found ? NULL : program;
        script->install = language->install;
    }
    int failure = text.failed;
    script->text_len = text.len;
    script->text = failure ? NULL : arena_copy(arena, text.data, text.len);
    buf_release(&text);
    if (failure == -E2BIG)
        return err_set(e, -E2BIG, "the script's arguments have more than %d bytes", COMMAND_MAX);
    return script->text ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int script_open(struct arena *arena, const struct policy *policy, const char *search_path,
                const nacre_run_options *o, const char *bytes, size_t len, struct script *ret,
                struct err *e)
{
    const struct policy_language *language = policy_find_language(policy, o->language);
    struct script script = {.bytes = bytes, .len = len};
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    size_t args = 0;
    if (!language)
        return unknown_language(policy, o->language, e);
    if (len > NACRE_TEXT_MAX)
        return err_set(e, -E2BIG, "the script has more than %d bytes", NACRE_TEXT_MAX);
    while (o->script_args && o->script_args[args])
        args++;
    if (args > SCRIPT_ARGS_MAX)
        return err_set(e, -E2BIG, "the script has more than %d arguments", SCRIPT_ARGS_MAX);
    script.language = arena_copy(arena, language->name, strlen(language->name));
    if (!script.language)
        return err_set(e, -ENOMEM, "out of memory");
    sha256_start(&hash);
    sha256_add(&hash, bytes, len);
    sha256_end(&hash, digest);
    sha256_hex(digest, script.sha256);
    int r = make_text(arena, policy, search_path, o, PLAN_SCRIPTS, PLAN_SCRIPTS_OUT, &script, e);
    if (r == 0)
        *ret = script;
    return r;
}

int script_move(struct arena *arena, const struct policy *policy, const char *search_path,
                const nacre_run_options *o, const char *dir, struct script *script, struct err *e)
{
    return make_text(arena, policy, search_path, o, dir, dir, script, e);
}

/* --- the verdict ------------------------------------------------------------------------------ */

int script_decide(const struct decider *d, struct arena *arena, const struct script *script,
                  struct phases *phases, struct verdict *ret, const struct shell_tree **ret_tree,
                  struct err *e)
{
    const struct shell_tree *tree = NULL;
    const struct facts *facts = NULL;
    struct shell_error error;
    if (!script->file.path)
        return engine_decide(d, arena, script->text, script->text_len, phases, ret, ret_tree, e);
    *ret_tree = NULL;
    phases_enter(phases, PHASE_PARSE);
    int r = shell_parse(arena, script->text, script->text_len, &tree, &error);
    if (r == -ENOMEM)
        return err_set(e, -ENOMEM, "out of memory");
    if (r < 0)
        return judge_unread(d->judge, arena, &error, ret);
    phases_enter(phases, PHASE_FACTS);
    r = facts_gather(arena, &d->host, tree, &facts, e);
    if (r < 0)
        return r;
    *ret_tree = tree;
    phases_enter(phases, PHASE_VERDICT);
    return judge_script(d->judge, arena, facts, ret, e);
}

/* --- afterwards ------------------------------------------------------------------------------- */

void script_tell_missing(const struct script *script, struct err *e)
{
    err_set(e, -ENOENT, "%s is not installed here: PATH has no '%s'%s%s%s", script->language,
            script->missing, script->install ? " (" : "", script->install ? script->install : "",
            script->install ? ")" : "");
}

static const char own_template[] =
    "Result of a script that was written for this task.\n"
    "\n"
    "Command: {command}\n"
    "Exit code: {exit_code}\n"
    "\n"
    "Standard output:\n"
    "{stdout}\n"
    "\n"
    "Standard error:\n"
    "{stderr}\n"
    "\n"
    "If the exit code is not 0, find the cause in what stands on standard error, and write the "
    "script anew with it mended. If it is 0, go on with the task from what stands on standard "
    "output.\n";

int script_analyse(const char *template, const struct script_outcome *outcome, struct buf *out)
{
    char code[16];
    snprintf(code, sizeof(code), "%d", outcome->exit_code);
    const struct {
        const char *name, *bytes;
        size_t len;
    } places[] = {
        {"{command}", outcome->command, outcome->command_len},
        {"{exit_code}", code, strlen(code)},
        {"{stdout}", outcome->output, outcome->output_len},
        {"{stderr}", outcome->errors, outcome->errors_len},
    };
    for (const char *at = template ? template : own_template; *at && !out->failed;) {
        size_t i = 0;
        while (i < sizeof(places) / sizeof(places[0]) &&
               strncmp(at, places[i].name, strlen(places[i].name)) != 0)
            i++;
        if (i < sizeof(places) / sizeof(places[0])) {
            if (places[i].len)
                buf_append(out, places[i].bytes, places[i].len);
            at += strlen(places[i].name);
        } else {
            buf_append_byte(out, *at++);
        }
    }
    return out->failed;
}
