/* The agents that can be named; see policy.h. */
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "policy/load.h"

/* A list that grows; the arena keeps what it grew out of. */
struct listing {
    struct arena *arena;
    struct policy_agent *items;
    size_t count, room;
};

static int add(struct listing *list, const struct policy_file *file, struct err *e)
{
    const struct yaml_node *note = yaml_get(file->tree, "description");
    struct policy_agent agent = {
        .name = file->agent_name,
        .file = file->name,
        .description = note && note->kind == YAML_SCALAR ? note->text : NULL,
        .layer = file->layer,
        .preset = file->preset,
    };
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, agent.name) == 0) {
            list->items[i] = agent;
            return 0;
        }
    }
    if (list->count == list->room) {
        size_t room = 2 * list->room + 8;
        struct policy_agent *more = arena_alloc_array(list->arena, room, sizeof(*more));
        if (!more)
            return err_set(e, -ENOMEM, "policy: out of memory");
        if (list->count)
            memcpy(more, list->items, list->count * sizeof(*more));
        list->items = more;
        list->room = room;
    }
    list->items[list->count++] = agent;
    return 0;
}

static int compare_agents(const void *a, const void *b)
{
    return strcmp(((const struct policy_agent *)a)->name, ((const struct policy_agent *)b)->name);
}

int policy_agents(struct arena *arena, const struct policy_request *request,
                  struct policy_agent **ret, size_t *ret_count, struct err *e)
{
    struct listing list = {.arena = arena};
    int r = 0;
    for (const struct policy_builtin *b = policy_builtins; r == 0 && b->name; b++) {
        struct policy_file file = {
            .layer = LAYER_BUILTIN,
            .name = b->name,
            .tree = b->tree,
            .agent_name = b->name,
            .preset = b->preset,
        };
        if (b->agent)
            r = add(&list, &file, e);
    }
    for (int layer = LAYER_SYSTEM; r == 0 && layer <= LAYER_PROJECT; layer++) {
        const char *const *names;
        size_t count;
        r = policy_list_files(arena, request, (enum policy_layer)layer, "agents", &names, &count,
                              e);
        for (size_t i = 0; r == 0 && i < count; i++) {
            struct policy_file file;
            if (!policy_is_agent_name(names[i]))
                continue;
            r = policy_read_agent(arena, request, (enum policy_layer)layer, names[i], &file, e);
            if (r == 0 && file.tree)
                r = add(&list, &file, e);
        }
    }
    if (r < 0)
        return r;
    if (list.count)
        qsort(list.items, list.count, sizeof(*list.items), compare_agents);
    *ret = list.items;
    *ret_count = list.count;
    return 0;
}
