/*
 * Any bytes as a file of commands: refused with a place and in one line, or read to tables in which
 * every name is found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "facts/knowledge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
    if (e->code == 0 || strncmp(e->message, "f:", 2) != 0 || strchr(e->message, '\n'))
        abort();
}

static void check_commands(const struct knowledge *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct knowledge *c = &commands[i];
        if (i && strcmp(commands[i - 1].name, c->name) >= 0)
            abort();
        for (size_t k = 0; k < c->option_count; k++) {
            const char *name = c->options[k].name;
            if (knowledge_option(c, name, strlen(name)) != &c->options[k])
                abort();
        }
        for (size_t k = 0; k < c->setting_count; k++) {
            const char *name = c->settings[k].name;
            if (!knowledge_setting(c, name, strlen(name)))
                abort();
        }
        for (size_t k = 0; k < c->subcommand_count; k++) {
            const char *name = c->subcommands[k].name;
            if (knowledge_subcommand(c, name, strlen(name)) != &c->subcommands[k])
                abort();
        }
        check_commands(c->subcommands, c->subcommand_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, 256 << 20);
    struct err e = {0};
    const struct yaml_node *root = NULL;
    const struct knowledge_base *base = NULL;
    if (yaml_parse(&arena, "f", (const char *)data, size, &root, &e) < 0 ||
        knowledge_read(&arena, "f", root, NULL, &base, &e) < 0) {
        check_error(&e);
    } else {
        check_commands(base->commands, base->command_count);
        for (size_t i = 0; i < base->variable_count; i++) {
            const char *name = base->variables[i].name;
            if (!knowledge_variable(base, name, strlen(name)))
                abort();
        }
    }
    arena_release(&arena);
    return 0;
}
