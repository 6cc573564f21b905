/* The kinds of steps, and the plan as JSON; see plan.h. */
#include "plan/plan.h"

const struct plan_kind_info plan_kinds[PLAN_KINDS] = {
    [PLAN_NOTHING] = {"nothing", false, NULL, {NULL, NULL}, false},
    [PLAN_STRENGTH] = {"strength", false, "strength", {NULL, NULL}, false},
    [PLAN_UNSHARE] = {"unshare", false, "namespace", {NULL, NULL}, false},
    [PLAN_IDENTITY] = {"identity", false, NULL, {"uid", "gid"}, false},
    [PLAN_BUDGET] = {"budget", false, "resource", {"value", NULL}, false},
    [PLAN_HOSTNAME] = {"hostname", false, "name", {NULL, NULL}, false},
    [PLAN_SYSCTL] = {"sysctl", true, "value", {NULL, NULL}, false},
    [PLAN_ROOT] = {"root", false, NULL, {"bytes", "inodes"}, false},
    [PLAN_SPACE] = {"space", false, NULL, {"bytes", "inodes"}, false},
    [PLAN_DIR] = {"dir", true, NULL, {"mode", NULL}, true},
    [PLAN_FILE] = {"file", true, "content", {"mode", NULL}, true},
    [PLAN_LINK] = {"link", true, "target", {NULL, NULL}, false},
    [PLAN_SCRATCH] = {"scratch", true, NULL, {"mode", NULL}, true},
    [PLAN_BIND] = {"bind", true, "source", {"device", "inode"}, false},
    [PLAN_LAYER] = {"layer", true, "directory", {NULL, NULL}, false},
    [PLAN_STORE] = {"store", false, "directory", {NULL, NULL}, false},
    [PLAN_PIN] = {"pin", true, NULL, {NULL, NULL}, false},
    [PLAN_HIDE] = {"hide", true, NULL, {NULL, NULL}, false},
    [PLAN_PROC] = {"proc", true, NULL, {NULL, NULL}, false},
    [PLAN_MOUNT] = {"mount", true, "type", {NULL, NULL}, false},
    [PLAN_LIMIT] = {"limit", false, "resource", {"value", NULL}, false},
    [PLAN_UMASK] = {"umask", false, NULL, {"mask", NULL}, true},
    [PLAN_STEADY] = {"steady", false, "what", {NULL, NULL}, false},
    [PLAN_LANDLOCK] = {"landlock", false, NULL, {"abi", NULL}, false},
    [PLAN_ACCESS] = {"access", true, "access", {NULL, NULL}, false},
    [PLAN_SCOPE] = {"scope", false, "kind", {NULL, NULL}, false},
    [PLAN_FILTER] = {"filter", false, "rule", {NULL, NULL}, false},
    [PLAN_FD] = {"fd", false, "purpose", {"number", NULL}, false},
    [PLAN_ENV] = {"env", false, "variable", {NULL, NULL}, false},
    [PLAN_CWD] = {"cwd", true, NULL, {NULL, NULL}, false},
    [PLAN_WORD] = {"word", false, "text", {NULL, NULL}, false},
    [PLAN_PROGRAM] = {"program", true, NULL, {NULL, NULL}, false},
    [PLAN_ARG] = {"arg", false, "text", {NULL, NULL}, false},
    [PLAN_WAIT] = {"wait", false, "for", {NULL, NULL}, false},
};

static const struct {
    enum plan_flag flag;
    const char *name;
} flag_names[] = {
    {PLAN_READ_ONLY, "read_only"}, {PLAN_DEVICES, "devices"}, {PLAN_OWNED, "owned"},
    {PLAN_IF_THERE, "if_there"},   {PLAN_HELD, "held"},       {PLAN_WATCHED, "watched"},
    {PLAN_ESCAPED, "escaped"},
};

void plan_append_flags(const struct plan_step *step, struct buf *out)
{
    for (size_t f = 0; f < sizeof(flag_names) / sizeof(flag_names[0]); f++) {
        if (step->flags & flag_names[f].flag)
            buf_append_format(out, " %s", flag_names[f].name);
    }
}

void plan_write_json(const struct plan *plan, struct json *j)
{
    json_array_begin(j);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        const struct plan_kind_info *info = &plan_kinds[step->kind];
        json_object_begin(j);
        json_key(j, "step");
        json_text(j, info->name);
        if (info->has_path) {
            json_key(j, "path");
            json_text(j, step->path);
        }
        if (info->text) {
            json_key(j, info->text);
            json_text(j, step->text);
        }
        for (size_t n = 0; n < 2; n++) {
            /* A bind without a number is not held to a device and inode. */
            if (!info->number[n] || (step->kind == PLAN_BIND && !step->number[n]))
                continue;
            json_key(j, info->number[n]);
            json_unsigned(j, step->number[n]);
        }
        for (size_t f = 0; f < sizeof(flag_names) / sizeof(flag_names[0]); f++) {
            if (step->flags & flag_names[f].flag) {
                json_key(j, flag_names[f].name);
                json_bool(j, true);
            }
        }
        json_object_end(j);
    }
    json_array_end(j);
}
