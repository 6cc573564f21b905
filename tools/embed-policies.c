/*
 * Compiles data/policies, data/agents and data/presets into C: embed-policies FILE… > OUT.c
 *
 * The trees become constants, places included, so that nothing is parsed at the start of a program.
 * A file in a folder `agents` is an agent's, one in `presets` a preset; the others are parts of
 * profiles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

/* A literal of C. '?' is escaped for the sake of trigraphs. */
static void put_text(const char *text)
{
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

static unsigned count_nodes(const struct yaml_node *node)
{
    unsigned count = node->key ? 2 : 1;
    for (const struct yaml_node *child = node->first; child; child = child->next)
        count += count_nodes(child);
    return count;
}

static void put_pointer(const char *name, const char *field, unsigned index)
{
    if (index)
        printf(", .%s = &%s[%u]", field, name, index);
}

/* The node at `at`, its key behind it, its children behind that, each with all that is below. */
static void put_node(const char *name, const struct yaml_node *node, unsigned at)
{
    static const char *const kinds[] = {
        [YAML_SCALAR] = "YAML_SCALAR", [YAML_LIST] = "YAML_LIST", [YAML_MAP] = "YAML_MAP"};
    unsigned next = at + count_nodes(node), first = at + (node->key ? 2 : 1);
    printf("    {.kind = %s, .line = %u, .column = %u", kinds[node->kind], node->line,
           node->column);
    if (node->quoted)
        printf(", .quoted = true");
    if (node->text) {
        printf(", .text = ");
        put_text(node->text);
    }
    put_pointer(name, "key", node->key ? at + 1 : 0);
    put_pointer(name, "first", node->first ? first : 0);
    put_pointer(name, "next", node->next ? next : 0);
    puts("},");
    if (node->key) {
        printf("    {.kind = YAML_SCALAR, .line = %u, .column = %u, .text = ", node->key->line,
               node->key->column);
        put_text(node->key->text);
        puts("},");
    }
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        put_node(name, child, first);
        first += count_nodes(child);
    }
}

/* "data/agents/coder.yaml" is "coder". */
static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *start = slash ? slash + 1 : path;
    return strndup(start, strcspn(start, "."));
}

int main(int argc, char **argv)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, 64 << 20);
    puts("/* Made by tools/embed-policies.c from data/policies, data/agents and data/presets. */\n"
         "#include \"policy/load.h\"\n");
    for (int i = 1; i < argc; i++) {
        const struct yaml_node *root;
        struct err e = {0};
        if (yaml_load(&arena, argv[i], &root, &e) < 0) {
            fprintf(stderr, "%s\n", e.message);
            return 1;
        }
        char table[16];
        snprintf(table, sizeof(table), "tree%d", i);
        printf("static const struct yaml_node %s[%u] = {\n", table, count_nodes(root));
        put_node(table, root, 0);
        puts("};");
    }
    puts("const struct policy_builtin policy_builtins[] = {");
    for (int i = 1; i < argc; i++) {
        char *name = base_name(argv[i]);
        if (!name)
            return 1;
        bool preset = strstr(argv[i], "presets/");
        printf("    {\"%s\", %s, %s, tree%d},\n", name,
               preset || strstr(argv[i], "agents/") ? "true" : "false", preset ? "true" : "false",
               i);
        free(name);
    }
    puts("    {0, false, false, 0},\n};");
    arena_release(&arena);
    return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}
