/* A run in a sandbox that was built ahead; see pool.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

/*
 * The bash that waits gets its text by `eval`. What a text could see of that makes it one for a
 * bash of its own: traces show how deep they are.
 */
static bool sees_the_difference(const char *text)
{
    static const char *const words[] = {"set",   "PS4",   "SHELLOPTS", "BASH",
                                        "shopt", "REPLY", "$_",        "${_"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(text, words[i]))
            return true;
    }
    return false;
}

/* Whether PATH has it, as far as the host shows: the inside sees the same files. */
static bool is_found(const char *name, const char *search_path)
{
    char path[PATH_MAX];
    struct stat st;
    for (size_t len; *search_path; search_path += len + (search_path[len] == ':')) {
        len = strcspn(search_path, ":");
        if (len &&
            snprintf(path, sizeof(path), "%.*s/%s", (int)len, search_path, name) < PATH_MAX &&
            stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A plain command takes the place of bash, as it does behind `bash -c`. */
static const char *text_for(nacre_result *r, const struct plan_request *request)
{
    r->plain = request->words.count && !strchr(request->words.items[0], '/') &&
               is_found(request->words.items[0], request->search_path);
    return r->plain ? arena_format(&r->arena, "exec -- %s", request->text) : request->text;
}

bool warm_is_possible(const nacre_result *r, const nacre_run_options *o, const char *text)
{
    return r->engine->pool.size && !r->no_pool && !o->session && !o->terminal &&
           !sees_the_difference(text);
}

bool warm_take(nacre_result *r, const struct plan_host *host, struct plan_request *request,
               const nacre_run_options *o, const struct setting *setting, struct plan *ret)
{
    struct pool *pool = &r->engine->pool;
    struct plan plan;
    struct err ignored;
    r->warm = false;
    if (!warm_is_possible(r, o, request->text) || !plan_can_be_warm(host, request))
        return false;
    struct plan_request warm = *request;
    warm.warm = true;
    warm.input = o->stdin_fd >= 0;
    warm.text = text_for(r, request);
    if (!warm.text || plan_build(&r->arena, host, &warm, &plan, &ignored) < 0)
        return false;
    if (early_use(r, &plan)) {
        *ret = plan;
        return true;
    }
    if (r->early.of)
        return false;
    const struct plan ahead = plan_part(&plan, 0);
    r->warm = !r->early.missed && pool_take(pool, &ahead, &r->sandbox);
    r->built = ahead.count;
    if (!request->script.path)
        early_remember(r, o, setting, &plan);
    if (r->warm)
        *ret = plan;
    return r->warm;
}
