/*
 * Compiles every file of data/commands and data/variables.yaml into C: embed-commands FILE… > OUT.c
 *
 * The files are read by the same reader that reads users' files. A name in two of them is refused,
 * as is an option that stands for a command that nobody describes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/knowledge.h"

struct source {
    struct knowledge command; /* first, so that its name is too */
    const char *file;
};

struct collection {
    struct source *commands;
    size_t command_count;
    struct knowledge_variable *variables;
    size_t variable_count;
    unsigned tables; /* the number of the next table */
    struct written *written;
    size_t written_count;
};

/* A table that is there already: aliases share those of the command. */
struct written {
    const void *rows;
    unsigned table;
};

static int compare_rows(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void *grow(void *old, size_t count, size_t size)
{
    void *grown = reallocarray(old, count ? count : 1, size);
    if (!grown) {
        fputs("embed-commands: out of memory\n", stderr);
        exit(1);
    }
    return grown;
}

static int collect(struct collection *all, struct arena *arena, const char *path)
{
    const struct yaml_node *root;
    const struct knowledge_base *base;
    struct err e = {0};
    if (yaml_load(arena, path, &root, &e) < 0 ||
        knowledge_read(arena, path, root, NULL, &base, &e) < 0) {
        fprintf(stderr, "%s\n", e.message);
        return -1;
    }
    all->commands =
        grow(all->commands, all->command_count + base->command_count, sizeof(*all->commands));
    for (size_t i = 0; i < base->command_count; i++)
        all->commands[all->command_count++] = (struct source){base->commands[i], path};
    all->variables =
        grow(all->variables, all->variable_count + base->variable_count, sizeof(*all->variables));
    for (size_t i = 0; i < base->variable_count; i++)
        all->variables[all->variable_count++] = base->variables[i];
    return 0;
}

static int check_as(const struct collection *all, const struct knowledge *command, const char *file)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const char *as = command->options[i].as;
        if (as && !bsearch(&as, all->commands, all->command_count, sizeof(*all->commands),
                           compare_rows)) {
            fprintf(stderr, "%s: %s %s: no command '%s'\n", file, command->name,
                    command->options[i].name, as);
            return -1;
        }
    }
    for (size_t i = 0; i < command->subcommand_count; i++) {
        if (check_as(all, &command->subcommands[i], file) < 0)
            return -1;
    }
    return 0;
}

static int check(struct collection *all)
{
    qsort(all->commands, all->command_count, sizeof(*all->commands), compare_rows);
    qsort(all->variables, all->variable_count, sizeof(*all->variables), compare_rows);
    for (size_t i = 1; i < all->command_count; i++) {
        const struct source *one = &all->commands[i - 1], *other = &all->commands[i];
        if (compare_rows(one, other) == 0) {
            fprintf(stderr, "%s: '%s' is already in %s\n", other->file, other->command.name,
                    one->file);
            return -1;
        }
    }
    for (size_t i = 1; i < all->variable_count; i++) {
        if (compare_rows(&all->variables[i - 1], &all->variables[i]) == 0) {
            fprintf(stderr, "the variable '%s' is given twice\n", all->variables[i].name);
            return -1;
        }
    }
    for (size_t i = 0; i < all->command_count; i++) {
        if (check_as(all, &all->commands[i].command, all->commands[i].file) < 0)
            return -1;
    }
    return 0;
}

/* A literal of C. '?' is escaped for the sake of trigraphs. */
static void put_text(const char *text)
{
    if (!text) {
        fputs("0", stdout);
        return;
    }
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\' || *c == '?')
            printf("\\%c", *c);
        else if (*c < ' ' || *c >= 0x7F)
            printf("\\%03o", (unsigned)*c);
        else
            putchar(*c);
    }
    putchar('"');
}

/* Whether the rows still have to be written; `ret_table` gets the number of their table. */
static bool is_new(struct collection *all, const void *rows, unsigned *ret_table)
{
    for (size_t i = all->written_count; i-- > 0;) {
        if (all->written[i].rows == rows) {
            *ret_table = all->written[i].table;
            return false;
        }
    }
    *ret_table = all->tables++;
    all->written = grow(all->written, all->written_count + 1, sizeof(*all->written));
    all->written[all->written_count++] = (struct written){rows, *ret_table};
    return true;
}

static void put_command(const struct knowledge *command, const unsigned tables[4]);

/* Tables first, then the row that points to them; `ret_tables` has their numbers, 0 for none. */
static void put_tables(struct collection *all, const struct knowledge *command,
                       unsigned ret_tables[4])
{
    memset(ret_tables, 0, 4 * sizeof(ret_tables[0]));
    if (command->option_count && is_new(all, command->options, &ret_tables[0])) {
        printf("static const struct knowledge_option t%u[] = {\n", ret_tables[0]);
        for (size_t i = 0; i < command->option_count; i++) {
            const struct knowledge_option *o = &command->options[i];
            fputs("    {", stdout);
            put_text(o->name);
            fputs(", ", stdout);
            put_text(o->same);
            printf(", %u, %u, %u, ", (unsigned)o->role, (unsigned)o->flags, (unsigned)o->effects);
            put_text(o->as);
            puts("},");
        }
        puts("};");
    }
    if (command->operand_count && is_new(all, command->operands, &ret_tables[1])) {
        printf("static const struct knowledge_operand t%u[] = {\n", ret_tables[1]);
        for (size_t i = 0; i < command->operand_count; i++) {
            const struct knowledge_operand *o = &command->operands[i];
            printf("    {%u, %u, %u},\n", (unsigned)o->role, o->repeat ? 1U : 0U,
                   (unsigned)o->flags);
        }
        puts("};");
    }
    if (command->subcommand_count && is_new(all, command->subcommands, &ret_tables[2])) {
        unsigned(*inner)[4] = grow(NULL, command->subcommand_count, sizeof(*inner));
        for (size_t i = 0; i < command->subcommand_count; i++)
            put_tables(all, &command->subcommands[i], inner[i]);
        printf("static const struct knowledge t%u[] = {\n", ret_tables[2]);
        for (size_t i = 0; i < command->subcommand_count; i++)
            put_command(&command->subcommands[i], inner[i]);
        puts("};");
        free(inner);
    }
    if (command->setting_count && is_new(all, command->settings, &ret_tables[3])) {
        printf("static const struct knowledge_setting t%u[] = {\n", ret_tables[3]);
        for (size_t i = 0; i < command->setting_count; i++) {
            fputs("    {", stdout);
            put_text(command->settings[i].name);
            printf(", %u, %u},\n", (unsigned)command->settings[i].role,
                   (unsigned)command->settings[i].flags);
        }
        puts("};");
    }
}

static void put_command(const struct knowledge *command, const unsigned tables[4])
{
    const size_t counts[4] = {command->option_count, command->operand_count,
                              command->subcommand_count, command->setting_count};
    fputs("    {", stdout);
    put_text(command->name);
    printf(", %u, %u, %u", (unsigned)command->kind, (unsigned)command->flags,
           (unsigned)command->effects);
    for (size_t i = 0; i < 4; i++) {
        if (counts[i])
            printf(", t%u, %zu", tables[i], counts[i]);
        else
            fputs(", 0, 0", stdout);
    }
    puts("},");
}

static void put_all(struct collection *all)
{
    puts("/* Made by tools/embed-commands.c from data/commands and data/variables.yaml. */\n"
         "#include \"facts/knowledge.h\"\n");
    unsigned(*tables)[4] = grow(NULL, all->command_count, sizeof(*tables));
    for (size_t i = 0; i < all->command_count; i++)
        put_tables(all, &all->commands[i].command, tables[i]);
    puts("static const struct knowledge commands[] = {");
    for (size_t i = 0; i < all->command_count; i++)
        put_command(&all->commands[i].command, tables[i]);
    puts("};\nstatic const struct knowledge_variable variables[] = {");
    for (size_t i = 0; i < all->variable_count; i++) {
        const struct knowledge_variable *v = &all->variables[i];
        fputs("    {", stdout);
        put_text(v->name);
        printf(", %u, %u, ", (unsigned)v->role, (unsigned)v->flags);
        put_text(v->why);
        puts("},");
    }
    printf(
        "};\nconst struct knowledge_base knowledge_builtin = {commands, %zu, variables, %zu, 0};\n",
        all->command_count, all->variable_count);
    free(tables);
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct collection all = {0};
    arena_init(&arena, &allocator_libc, 256 << 20);
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= collect(&all, &arena, argv[i]) < 0;
    if (!failed && (!all.command_count || !all.variable_count)) {
        fputs("usage: embed-commands FILE...: at least one command and one variable\n", stderr);
        failed = 1;
    }
    if (!failed)
        failed = check(&all) < 0;
    if (!failed) {
        put_all(&all);
        failed = fflush(stdout) != 0 || ferror(stdout);
    }
    free(all.commands);
    free(all.variables);
    free(all.written);
    arena_release(&arena);
    return failed ? 1 : 0;
}
