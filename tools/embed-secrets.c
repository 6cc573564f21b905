/*
 * Compiles data/secrets into C: embed-secrets rules FILE… > OUT.c
 *
 * The rules become the constant tables of redact/rules.h, so that nothing is read or made when a
 * program starts. `embed-secrets examples FILE…` writes their examples instead, for the test that
 * holds each rule to them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "redact/maker.h"

enum { RANK_SPECIFIC = 1, RANK_GENERIC = 2 };

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

static const char *text_of(const struct yaml_node *rule, const char *key)
{
    const struct yaml_node *node = yaml_get(rule, key);
    return node && node->kind == YAML_SCALAR ? node->text : NULL;
}

/* --- checking -------------------------------------------------------------------------------- */

static const char *const keys[] = {"what",    "match", "before", "value", "entropy",
                                   "generic", "block", "yes",    "no"};
static const char *const values[JUDGE_KINDS] = {[JUDGE_ANY] = "any",
                                                [JUDGE_FILLED] = "filled",
                                                [JUDGE_MIXED] = "mixed",
                                                [JUDGE_OPTION] = "option",
                                                [JUDGE_ASSIGNED] = "assigned"};

static int find(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return (int)i;
    }
    return -1;
}

static bool has_examples(const struct yaml_node *rule, const char *key)
{
    const struct yaml_node *node = yaml_get(rule, key);
    return node && node->kind == YAML_LIST && node->first;
}

static int read_rule(const char *file, const struct yaml_node *node, struct rule *ret,
                     struct err *e)
{
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        if (find(keys, sizeof(keys) / sizeof(keys[0]), entry->key->text) < 0)
            return yaml_error(e, file, entry, "no key '%s' is known", entry->key->text);
    }
    if (!text_of(node, "what") || !text_of(node, "match"))
        return yaml_error(e, file, node, "'what' and 'match' are missing");
    if (!has_examples(node, "yes") || !has_examples(node, "no"))
        return yaml_error(e, file, node, "examples are missing: 'yes' and 'no'");
    const char *value = text_of(node, "value"), *entropy = text_of(node, "entropy");
    int judge = value ? find(values, JUDGE_KINDS, value) : JUDGE_ANY;
    char *end = NULL;
    double bits = entropy ? strtod(entropy, &end) : 0;
    if (judge < 0)
        return yaml_error(e, file, node, "'value' is any, filled, mixed, option or assigned");
    if ((end && *end) || bits < 0 || bits > 8)
        return yaml_error(e, file, node, "'entropy' is a number of bits");
    *ret = (struct rule){
        .name = node->key->text,
        .judge = (uint8_t)judge,
        .entropy = (uint16_t)(bits * 100 + 0.5),
        .rank = yaml_get(node, "generic") ? RANK_GENERIC : RANK_SPECIFIC,
        .kind = yaml_get(node, "block") ? RULE_BLOCK : RULE_PATTERN,
    };
    return 0;
}

static int add_file(struct rule_maker *m, const char *file, const struct yaml_node *root,
                    struct err *e)
{
    const struct yaml_node *rules = yaml_get(root, "rules");
    if (!rules || rules->kind != YAML_MAP)
        return yaml_error(e, file, root, "'rules' is missing");
    for (const struct yaml_node *node = rules->first; node; node = node->next) {
        struct rule rule = {0};
        if (read_rule(file, node, &rule, e) < 0 || !rule.name)
            return -EINVAL;
        for (size_t i = 0; i < m->rule_count; i++) {
            if (strcmp(m->rules[i].name, rule.name) == 0)
                return yaml_error(e, file, node, "the rule '%s' is there twice", rule.name);
        }
        rule.number = (uint16_t)m->rule_count;
        if (rule_maker_add_pattern(m, &rule, text_of(node, "match"), text_of(node, "before"), e) <
            0)
            return err_context(e, -EINVAL, "%s:%u", file, node->line);
    }
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_rules(const struct rule_set *set)
{
    printf("static const struct rule rules[] = {\n");
    for (uint32_t i = 0; i < set->rule_count; i++) {
        const struct rule *r = &set->rules[i];
        printf("    {.name = ");
        put_text(r->name);
        printf(", .code = %u, .number = %u, .entropy = %u, .before_class = %u, .before_min = %u, "
               ".before_max = %u, .kind = %u, .judge = %u, .rank = %u},\n",
               r->code, (unsigned)r->number, (unsigned)r->entropy, (unsigned)r->before_class,
               (unsigned)r->before_min, (unsigned)r->before_max, (unsigned)r->kind,
               (unsigned)r->judge, (unsigned)r->rank);
    }
    printf("};\nstatic const struct op ops[] = {\n");
    for (uint32_t i = 0; i < set->op_count; i++)
        printf("    {%u, %u, %u, %u},\n", (unsigned)set->ops[i].kind, (unsigned)set->ops[i].value,
               (unsigned)set->ops[i].min, (unsigned)set->ops[i].max);
    printf("};\nstatic const struct byte_class classes[] = {\n");
    for (uint32_t i = 0; i < set->class_count; i++) {
        const uint64_t *b = set->classes[i].bits;
        printf("    {{%lluu, %lluu, %lluu, %lluu}},\n", (unsigned long long)b[0],
               (unsigned long long)b[1], (unsigned long long)b[2], (unsigned long long)b[3]);
    }
    printf("};\n");
}

static void put_numbers(const char *type, const char *name, size_t count,
                        unsigned (*get)(const struct rule_set *set, size_t i),
                        const struct rule_set *set)
{
    printf("static const %s %s[] = {", type, name);
    for (size_t i = 0; i < count; i++)
        printf("%s%u,", i % 16 == 0 ? "\n    " : " ", get(set, i));
    printf("\n};\n");
}

static unsigned get_index(const struct rule_set *set, size_t i)
{
    return set->index[i];
}

static unsigned get_filter(const struct rule_set *set, size_t i)
{
    return set->filter[i];
}

static void put_set(const struct rule_set *set)
{
    puts("/* Made by tools/embed-secrets.c from data/secrets. */\n#include \"redact/rules.h\"\n");
    put_rules(set);
    printf("static const struct gram grams[] = {");
    for (uint32_t i = 0; i < set->gram_count; i++)
        printf("%s{%u, %u, %u, %u},", i % 4 == 0 ? "\n    " : " ", set->grams[i].gram,
               set->grams[i].next, set->grams[i].mask, (unsigned)set->grams[i].rule);
    printf("\n};\n");
    put_numbers("uint16_t", "index_of", (1 << INDEX_BITS) + 1, get_index, set);
    put_numbers("uint8_t", "filter", FILTER_BYTES, get_filter, set);
    printf("const struct rule_set rules_builtin = {.rules = rules, .ops = ops, .classes = classes, "
           ".grams = grams, .index = index_of, .filter = filter, .rule_count = %u, .op_count = %u, "
           ".class_count = %u, .gram_count = %u};\n",
           set->rule_count, set->op_count, set->class_count, set->gram_count);
}

static void put_examples(const struct yaml_node *root)
{
    for (const struct yaml_node *rule = yaml_get(root, "rules")->first; rule; rule = rule->next) {
        for (int wanted = 0; wanted < 2; wanted++) {
            const struct yaml_node *list = yaml_get(rule, wanted ? "yes" : "no");
            for (const struct yaml_node *text = list->first; text; text = text->next) {
                printf("    {");
                put_text(rule->key->text);
                printf(", %s, ", wanted ? "true" : "false");
                put_text(text->text);
                printf("},\n");
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct rule_maker maker;
    struct rule_set set;
    struct err e = {0};
    bool examples = argc > 1 && strcmp(argv[1], "examples") == 0;
    arena_init(&arena, &allocator_libc, 64 << 20);
    rule_maker_init(&maker, &allocator_libc);
    if (examples)
        puts("/* Made by tools/embed-secrets.c from data/secrets. */\n"
             "#include \"../../../tests/unit/redact_examples.h\"\n\nconst struct redact_example "
             "redact_examples[] = {");
    for (int i = 2; i < argc; i++) {
        const struct yaml_node *root;
        if (yaml_load(&arena, argv[i], &root, &e) < 0 || add_file(&maker, argv[i], root, &e) < 0)
            goto failed;
        if (examples)
            put_examples(root);
    }
    if (rule_maker_finish(&maker, &set, &e) < 0)
        goto failed;
    if (set.anywhere_count > 0) {
        err_set(&e, -EINVAL, "rule '%s' begins in too many ways", set.rules[set.anywhere[0]].name);
        goto failed;
    }
    if (examples)
        puts("    {0, false, 0},\n};");
    else
        put_set(&set);
    rule_maker_release(&maker);
    arena_release(&arena);
    return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;

failed:
    fprintf(stderr, "embed-secrets: %s\n", e.message);
    return 1;
}
