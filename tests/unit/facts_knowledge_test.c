/* What is known about commands: the reader with each of its refusals, the look-ups, the built-in
 * base. */
#include <errno.h>
#include <string.h>

#include "facts/knowledge.h"
#include "tap.h"

static struct arena arena;

static const struct knowledge_base *read_text(const char *text, struct err *e)
{
    const struct yaml_node *root = NULL;
    const struct knowledge_base *base = NULL;
    *e = (struct err){0};
    if (yaml_parse(&arena, "f", text, strlen(text), &root, e) < 0 ||
        knowledge_read(&arena, "f", root, NULL, &base, e) < 0)
        return NULL;
    return base;
}

static const struct knowledge *find(const char *name)
{
    return knowledge_find(&knowledge_builtin, name, strlen(name));
}

static const struct knowledge *find_sub(const char *name, const char *sub)
{
    const struct knowledge *command = find(name);
    return command ? knowledge_subcommand(command, sub, strlen(sub)) : NULL;
}

static const struct knowledge_option *option(const struct knowledge *command, const char *name)
{
    return command ? knowledge_option(command, name, strlen(name)) : NULL;
}

static enum role option_role(const struct knowledge *command, const char *name)
{
    const struct knowledge_option *found = option(command, name);
    return found ? found->role : ROLE_COUNT;
}

static bool option_asks(const struct knowledge *command, const char *name)
{
    const struct knowledge_option *found = option(command, name);
    return found && found->flags & MARK_ASK;
}

static enum role setting_role(const struct knowledge *command, const char *name)
{
    const struct knowledge_setting *found =
        command ? knowledge_setting(command, name, strlen(name)) : NULL;
    return found ? found->role : ROLE_COUNT;
}

static const struct knowledge_variable *variable(const char *name)
{
    return knowledge_variable(&knowledge_builtin, name, strlen(name));
}

/* --- reading ---------------------------------------------------------------------------------- */

static void test_reading(void)
{
    struct err e;
    const struct knowledge_base *base =
        read_text("commands:\n"
                  "  zeta:\n"
                  "    kind: wrapper\n"
                  "    style: single\n"
                  "    first: true\n"
                  "    builtin: false\n"
                  "    output: number\n"
                  "    effects: [reads, network]\n"
                  "    aliases: [alpha, '[']\n"
                  "    options:\n"
                  "      -o --output: write last ask deletes as:rm\n"
                  "      \"-e\": text instead optional\n"
                  "    operands: [text, read... ask, write]\n"
                  "    settings: {core.pager: shell, \"a.*\": text}\n"
                  "    subcommands:\n"
                  "      two: {aliases: [deux]}\n"
                  "      one:\n"
                  "  plain:\n"
                  "variables:\n"
                  "  B: {role: shell, why: runs}\n"
                  "  \"A_*\": {ask: true, why: because}\n"
                  "  C: {role: text}\n",
                  &e);
    tap_check(base != NULL, "a whole file: %s", e.message);
    if (!base)
        return;
    tap_number((long long)base->command_count, 4, "commands and their aliases");
    tap_text(base->commands[0].name, "[", "sorted");
    const struct knowledge *zeta = knowledge_find(base, "zeta", 4);
    const struct knowledge *alpha = knowledge_find(base, "alpha", 5);
    tap_check(zeta && alpha && zeta->options == alpha->options, "an alias is a row of its own");
    if (!zeta)
        return;
    tap_check(zeta->kind == KIND_WRAPPER, "kind");
    tap_number(zeta->flags, KNOWN_SINGLE | KNOWN_FIRST | KNOWN_NUMBER, "flags");
    tap_number(zeta->effects, EFFECT_READS | EFFECT_NETWORK, "effects");
    const struct knowledge_option *o = option(zeta, "--output");
    tap_check(o && o->role == ROLE_WRITE && o->flags == (MARK_LAST | MARK_ASK) &&
                  o->effects == EFFECT_DELETES && strcmp(o->same, "-o") == 0 &&
                  strcmp(o->as, "rm") == 0,
              "an option with all that it can have");
    tap_check(option(zeta, "-o") && strcmp(option(zeta, "-o")->same, "-o") == 0,
              "its other name is the same one");
    tap_check(option(zeta, "-e") && option(zeta, "-e")->flags == (MARK_INSTEAD | MARK_OPTIONAL),
              "marks");
    tap_check(zeta->operand_count == 3 && zeta->operands[1].role == ROLE_READ &&
                  zeta->operands[1].repeat && zeta->operands[1].flags == MARK_ASK &&
                  !zeta->operands[2].repeat,
              "operands");
    tap_check(zeta->subcommand_count == 3 && knowledge_subcommand(zeta, "deux", 4) &&
                  knowledge_subcommand(zeta, "one", 3),
              "subcommands");
    tap_check(knowledge_find(base, "plain", 5) != NULL, "a command with nothing behind its name");
    tap_check(base->variable_count == 3 && strcmp(base->variables[0].name, "A_*") == 0 &&
                  base->variables[0].flags == MARK_ASK && base->variables[1].role == ROLE_SHELL,
              "variables");
    tap_check(read_text("", &e) != NULL, "an empty file");
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[a]", "f:1:1: must be a map"},
        {"other: {}", "f:1:1: 'other' is neither commands nor variables"},
        {"commands: a", "f:1:11: 'commands' must be a map"},
        {"commands: {a: b}", "f:1:15: 'a' must be a map"},
        {"commands: {a b: {}}", "f:1:12: the name of a command has no blanks or slashes"},
        {"commands: {/bin/a: {}}", "f:1:12: the name of a command has no blanks or slashes"},
        {"commands: {a: {aliases: [b/c]}}",
         "f:1:26: the name of a command has no blanks or slashes"},
        {"commands: {a: {aliases: ['']}}", "f:1:26: the name of a command must not be empty"},
        {"commands: {a: {aliases: b}}", "f:1:25: 'aliases' must be a list"},
        {"commands: {a: {aliases: [[b]]}}", "f:1:26: must be a word"},
        {"commands:\n  a: {aliases: [b]}\n  b: {}\n", "f:3:3: 'b' is already given in line 2"},
        {"commands: {a: {colour: red}}", "f:1:16: a command has no key 'colour'"},
        {"commands: {a: {kind: big}}", "f:1:22: 'big' is not known as kind"},
        {"commands: {a: {kind: [wrapper]}}", "f:1:22: 'kind' must be a word"},
        {"commands: {a: {style: double}}", "f:1:23: 'double' is not known as style"},
        {"commands: {a: {output: text}}", "f:1:24: 'text' is not known as output"},
        {"commands: {a: {first: yes}}", "f:1:23: 'first' must be true or false"},
        {"commands: {a: {first: \"true\"}}", "f:1:23: 'first' must be true or false"},
        {"commands: {a: {effects: reads}}", "f:1:25: 'effects' must be a list"},
        {"commands: {a: {effects: [sings]}}", "f:1:26: 'sings' is not known here"},
        {"commands: {a: {options: [-a]}}", "f:1:25: 'options' must be a map"},
        {"commands: {a: {options: {a: flag}}}", "f:1:26: 'a' is not the name of an option"},
        {"commands: {a: {options: {-a b: flag}}}", "f:1:26: 'b' is not the name of an option"},
        {"commands: {a: {options: {\" \": flag}}}", "f:1:26: an option needs a name"},
        {"commands: {a: {options: {--a=b: flag}}}", "f:1:26: the name of an option has no '='"},
        {"commands: {a: {options: {-a: }}}", "f:1:26: '-a' needs a role"},
        {"commands: {a: {options: {-a: [flag]}}}", "f:1:30: '-a' must be a word"},
        {"commands: {a: {options: {-a: banner}}}", "f:1:30: 'banner' is not a role"},
        {"commands: {a: {options: {-a: flag sings}}}",
         "f:1:30: 'sings' is not a mark or an effect"},
        {"commands: {a: {options: {-a: text until}}}", "f:1:30: only argv can have the mark until"},
        {"commands: {a: {options: {-a: flag optional}}}",
         "f:1:30: a flag has no value that a mark could speak of"},
        {"commands:\n  a:\n    options:\n      -a --all: flag\n      --all: flag\n",
         "f:5:7: '--all' is already given in line 4"},
        {"commands: {a: {operands: read}}", "f:1:26: 'operands' must be a list"},
        {"commands: {a: {operands: [banner]}}", "f:1:27: 'banner' is not a role"},
        {"commands: {a: {operands: [flag]}}", "f:1:27: an operand is not a flag"},
        {"commands: {a: {operands: ['']}}", "f:1:27: an operand needs a role"},
        {"commands: {a: {operands: [[read]]}}", "f:1:27: must be a word"},
        {"commands: {a: {operands: [read..., write...]}}", "f:1:36: only one operand can repeat"},
        {"commands: {a: {operands: [read last]}}", "f:1:27: 'last' is not a mark of operands"},
        {"commands: {a: {settings: [a]}}", "f:1:26: 'settings' must be a map"},
        {"commands: {a: {settings: {b: [c]}}}", "f:1:30: 'b' must be a word"},
        {"commands: {a: {settings: {b: }}}", "f:1:27: 'b' needs a role"},
        {"commands: {a: {settings: {b: flag}}}", "f:1:30: 'flag' is not a role of settings"},
        {"commands: {a: {settings: {b: text last}}}", "f:1:30: 'last' is not a mark of settings"},
        {"commands: {a: {subcommands: [b]}}", "f:1:29: 'subcommands' must be a map"},
        {"commands: {a: {subcommands: {b: {kind: big}}}}", "f:1:40: 'big' is not known as kind"},
        {"variables: [A]", "f:1:12: 'variables' must be a map"},
        {"variables: {1A: {}}",
         "f:1:13: '1A' is not the name of a variable, nor one with a last *"},
        {"variables: {\"A*B\": {}}",
         "f:1:13: 'A*B' is not the name of a variable, nor one with a last *"},
        {"variables: {A: b}", "f:1:16: 'A' must be a map"},
        {"variables: {A: {ask: 1}}", "f:1:22: 'ask' must be true or false"},
        {"variables: {A: {ask: true}}", "f:1:13: 'A' needs a why"},
        {"variables: {A: {role: shell}}", "f:1:13: 'A' needs a why"},
        {"variables: {A: {role: flag}}", "f:1:23: 'flag' is not a role of variables"},
        {"variables: {A: {why: [b]}}", "f:1:22: 'why' must be a word"},
        {"variables: {A: {what: b}}", "f:1:17: a variable has no key 'what'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct err e;
        tap_check(read_text(rows[i].text, &e) == NULL, "refused: %s", rows[i].text);
        tap_text(e.message, rows[i].message, "its message");
    }
}

/* --- look-ups --------------------------------------------------------------------------------- */

static void test_lookups(void)
{
    struct err e;
    const struct knowledge_base *base = read_text("commands:\n"
                                                  "  a:\n"
                                                  "    options:\n"
                                                  "      --output: write\n"
                                                  "      --out-of-date: flag\n"
                                                  "      --quiet -q: flag\n"
                                                  "      --quick: text\n"
                                                  "      --verbose --verb: flag\n"
                                                  "      -delete: flag\n"
                                                  "    settings:\n"
                                                  "      core.pager: shell\n"
                                                  "      \"core.*\": text\n"
                                                  "      \"filter.*.*\": shell\n"
                                                  "      \"filter.*.required\": text\n"
                                                  "variables:\n"
                                                  "  LC_ALL: {role: shell, why: w}\n"
                                                  "  \"LC_*\": {role: text}\n"
                                                  "  \"L*\": {ask: true, why: w}\n",
                                                  &e);
    const struct knowledge *a = base ? knowledge_find(base, "a", 1) : NULL;
    if (!tap_check(a != NULL, "a base for look-ups: %s", e.message))
        return;
    tap_check(!knowledge_find(base, "ab", 2) && !knowledge_find(base, "", 0) &&
                  knowledge_find(base, "abc", 1) == a && !knowledge_find(base, "a\0", 2),
              "a name is compared by its length");
    tap_check(option_role(a, "--outp") == ROLE_WRITE, "a prefix of a long option");
    tap_check(option_role(a, "--out") == ROLE_WRITE, "of several the one that matters");
    tap_check(option(a, "--qui") != NULL, "of several that do not matter one");
    tap_check(option(a, "--quiet") && strcmp(option(a, "--quiet")->same, "--quiet") == 0 &&
                  strcmp(option(a, "-q")->same, "--quiet") == 0,
              "the whole name before any prefix");
    tap_check(option(a, "--verb") && strcmp(option(a, "--verb")->name, "--verb") == 0,
              "also when it is the prefix of another");
    tap_check(!option(a, "--") && !option(a, "-") && !option(a, "") && !option(a, "--outputs") &&
                  !option(a, "-del") && option(a, "-delete"),
              "no prefix of options with one dash, and nothing longer");
    tap_check(setting_role(a, "core.pager") == ROLE_SHELL &&
                  setting_role(a, "CORE.Pager") == ROLE_SHELL &&
                  setting_role(a, "core.abbrev") == ROLE_TEXT,
              "a setting: exact before a pattern, in any case");
    tap_check(setting_role(a, "filter.x.y.clean") == ROLE_SHELL &&
                  setting_role(a, "filter.x.required") == ROLE_TEXT &&
                  setting_role(a, "filter.x") == ROLE_COUNT && setting_role(a, "cor") == ROLE_COUNT,
              "stars anywhere; the longest pattern wins");
    const struct knowledge_variable *v = knowledge_variable(base, "LC_ALL", 6);
    tap_check(v && v->role == ROLE_SHELL, "a variable");
    v = knowledge_variable(base, "LC_TIME", 7);
    tap_check(v && v->role == ROLE_TEXT && !v->flags, "the longest prefix");
    v = knowledge_variable(base, "L", 1);
    tap_check(v && v->flags == MARK_ASK, "a prefix that is all of the name");
    tap_check(!knowledge_variable(base, "M", 1), "none");

    const struct yaml_node *root = NULL;
    const struct knowledge_base *second = NULL;
    const char *more = "commands: {b: {}, a: {}}\nvariables: {LC_ALL: {role: text}}\n";
    if (yaml_parse(&arena, "g", more, strlen(more), &root, &e) == 0)
        knowledge_read(&arena, "g", root, base, &second, &e);
    tap_check(second && knowledge_find(second, "b", 1) && knowledge_find(second, "a", 1) != a &&
                  knowledge_variable(second, "LC_ALL", 6)->role == ROLE_TEXT &&
                  knowledge_variable(second, "LC_X", 4) != NULL,
              "the first base that knows a name wins, and the next ones are asked");
}

/* --- the built-in base ------------------------------------------------------------------------ */

static bool sorted(const struct knowledge *commands, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        const struct knowledge *c = &commands[i];
        ok = ok && (i == 0 || strcmp(commands[i - 1].name, c->name) < 0);
        for (size_t k = 1; k < c->option_count; k++)
            ok = ok && strcmp(c->options[k - 1].name, c->options[k].name) < 0;
        for (size_t k = 0; k < c->option_count; k++)
            ok = ok && c->options[k].same && option(c, c->options[k].name) == &c->options[k];
        ok = ok && sorted(c->subcommands, c->subcommand_count);
    }
    return ok;
}

static void test_builtin(void)
{
    const struct knowledge_base *base = &knowledge_builtin;
    tap_check(base->command_count >= 250, "%zu commands", base->command_count);
    tap_check(sorted(base->commands, base->command_count), "everything is sorted");
    bool ok = true;
    for (size_t i = 0; i < base->variable_count; i++)
        ok = ok && (i == 0 || strcmp(base->variables[i - 1].name, base->variables[i].name) < 0) &&
             base->variables[i].why;
    tap_check(ok, "variables too");

    /* Every builtin of bash 5.2. */
    static const char *const builtins[] = {
        ".",      ":",       "[",         "alias",    "bg",       "bind",    "break",    "builtin",
        "caller", "cd",      "command",   "compgen",  "complete", "compopt", "continue", "declare",
        "dirs",   "disown",  "echo",      "enable",   "eval",     "exec",    "exit",     "export",
        "false",  "fc",      "fg",        "getopts",  "hash",     "help",    "history",  "jobs",
        "kill",   "let",     "local",     "logout",   "mapfile",  "popd",    "printf",   "pushd",
        "pwd",    "read",    "readarray", "readonly", "return",   "set",     "shift",    "shopt",
        "source", "suspend", "test",      "times",    "trap",     "true",    "type",     "typeset",
        "ulimit", "umask",   "unalias",   "unset",    "wait"};
    for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++) {
        const struct knowledge *command = find(builtins[i]);
        if (!command || !(command->flags & KNOWN_BUILTIN))
            tap_check(false, "'%s' is a builtin", builtins[i]);
    }
    tap_check(!(find("ls")->flags & KNOWN_BUILTIN), "ls is none");
}

struct expected {
    const char *command, *sub, *option;
    enum role role;
    bool ask;
};

/* What security hangs on: options that run, write or change what a command is for. */
static void test_options(void)
{
    static const struct expected rows[] = {
        {"sort", NULL, "--compress-program", ROLE_PROGRAM, false},
        {"sort", NULL, "-o", ROLE_WRITE, false},
        {"sort", NULL, "--compress", ROLE_PROGRAM, false},
        {"split", NULL, "--filter", ROLE_SHELL, false},
        {"tar", NULL, "--to-command", ROLE_SHELL, true},
        {"tar", NULL, "-I", ROLE_SHELL, true},
        {"tar", NULL, "--checkpoint-action", ROLE_SHELL, true},
        {"tar", NULL, "--xattrs", ROLE_FLAG, false},
        {"zip", NULL, "-TT", ROLE_SHELL, true},
        {"find", NULL, "-exec", ROLE_ARGV, false},
        {"find", NULL, "-okdir", ROLE_ARGV, false},
        {"find", NULL, "-fprintf", ROLE_WRITE, false},
        {"xargs", NULL, "-a", ROLE_READ, false},
        {"env", NULL, "-S", ROLE_WORDS, false},
        {"bash", NULL, "-c", ROLE_BASH, false},
        {"bash", NULL, "--rcfile", ROLE_SOURCE, true},
        {"python3", NULL, "-c", ROLE_CODE, false},
        {"perl", NULL, "-e", ROLE_CODE, false},
        {"node", NULL, "--eval", ROLE_CODE, false},
        {"sed", NULL, "-e", ROLE_SED, false},
        {"sed", NULL, "-i", ROLE_TEXT, true},
        {"sed", NULL, "--in-place", ROLE_TEXT, true},
        {"awk", NULL, "-f", ROLE_CODE_FILE, true},
        {"gawk", NULL, "-l", ROLE_CODE_FILE, true},
        {"rg", NULL, "--pre", ROLE_PROGRAM, true},
        {"rg", NULL, "--hostname-bin", ROLE_PROGRAM, true},
        {"fd", NULL, "-x", ROLE_ARGV, false},
        {"man", NULL, "-P", ROLE_SHELL, true},
        {"man", NULL, "-H", ROLE_SHELL, true},
        {"date", NULL, "--set", ROLE_TEXT, true},
        {"make", NULL, "--eval", ROLE_CODE, true},
        {"curl", NULL, "-o", ROLE_WRITE, false},
        {"curl", NULL, "-K", ROLE_READ, true},
        {"wget", NULL, "--use-askpass", ROLE_PROGRAM, true},
        {"rsync", NULL, "-e", ROLE_SHELL, true},
        {"ssh", NULL, "-o", ROLE_SETTING, false},
        {"script", NULL, "-c", ROLE_SHELL, false},
        {"su", NULL, "-c", ROLE_SHELL, false},
        {"flock", NULL, "-c", ROLE_SHELL, false},
        {"gdb", NULL, "--args", ROLE_ARGV, false},
        {"mapfile", NULL, "-C", ROLE_EVAL, true},
        {"printf", NULL, "-v", ROLE_NAME, false},
        {"wait", NULL, "-p", ROLE_NAME, false},
        {"git", NULL, "-C", ROLE_ENTER, false},
        {"git", NULL, "-c", ROLE_SETTING, false},
        {"git", NULL, "--git-dir", ROLE_ENTER, true},
        {"git", NULL, "--exec-path", ROLE_TEXT, true},
        {"git", "diff", "--output", ROLE_WRITE, true},
        {"git", "diff", "--ext-diff", ROLE_FLAG, true},
        {"git", "log", "--output", ROLE_WRITE, true},
        {"git", "log", "--textconv", ROLE_FLAG, true},
        {"git", "show", "--outp", ROLE_WRITE, true},
        {"git", "grep", "-O", ROLE_SHELL, true},
        {"git", "grep", "--open-files", ROLE_SHELL, true},
        {"git", "branch", "-D", ROLE_FLAG, true},
        {"git", "branch", "--set-upstream-to", ROLE_TEXT, true},
        {"git", "branch", "--edit-description", ROLE_FLAG, true},
        {"git", "rebase", "--exec", ROLE_SHELL, false},
        {"git", "fetch", "--upload-pack", ROLE_SHELL, true},
        {"git", "clone", "-u", ROLE_SHELL, true},
        {"git", "clone", "--config", ROLE_SETTING, false},
        {"git", "ls-remote", "--exec", ROLE_SHELL, true},
        {"git", "push", "--receive-pack", ROLE_SHELL, true},
        {"git", "push", "--force", ROLE_FLAG, true},
        {"git", "difftool", "-x", ROLE_SHELL, false},
        {"git", "archive", "--exec", ROLE_SHELL, true},
        {"git", "filter-branch", "--tree-filter", ROLE_SHELL, false},
        {"git", "reset", "--hard", ROLE_FLAG, true},
        {"git", "gc", "--prune", ROLE_TEXT, true},
        {"npm", "exec", "--call", ROLE_SHELL, false},
        {"go", "test", "-exec", ROLE_WORDS, true},
        {"go", "build", "-toolexec", ROLE_WORDS, true},
        {"perf", "record", "-o", ROLE_WRITE, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct knowledge *command =
            rows[i].sub ? find_sub(rows[i].command, rows[i].sub) : find(rows[i].command);
        tap_check(option_role(command, rows[i].option) == rows[i].role &&
                      option_asks(command, rows[i].option) == rows[i].ask,
                  "%s %s %s", rows[i].command, rows[i].sub ? rows[i].sub : "", rows[i].option);
    }

    const struct knowledge_option *o = option(find("find"), "-delete");
    tap_check(o && o->as && strcmp(o->as, "rm") == 0, "find -delete is an rm");
    o = option(find("find"), "-exec");
    tap_check(o && o->flags & MARK_UNTIL, "find -exec ends");
    o = option(find("cp"), "-t");
    tap_check(o && o->flags & MARK_LAST, "cp -t is the last operand");
    o = option(find("grep"), "--regexp");
    tap_check(o && o->flags & MARK_INSTEAD && strcmp(o->same, "-e") == 0, "grep -e");
    tap_check(strcmp(option(find_sub("git", "push"), "--force")->same,
                     option(find_sub("git", "push"), "-f")->same) == 0 &&
                  strcmp(option(find("rm"), "-R")->same, option(find("rm"), "--recursive")->same) ==
                      0,
              "two names of one option");
    tap_check(option(find_sub("git", "push"), "--force-with-lease") !=
                  option(find_sub("git", "push"), "--force"),
              "a name that starts like another");
}

static void test_kinds(void)
{
    static const struct {
        const char *name;
        enum knowledge_kind kind;
    } rows[] = {
        {"bash", KIND_SHELL},        {"sh", KIND_SHELL},
        {"zsh", KIND_SHELL},         {"python", KIND_INTERPRETER},
        {"node", KIND_INTERPRETER},  {"java", KIND_INTERPRETER},
        {"timeout", KIND_WRAPPER},   {"xargs", KIND_WRAPPER},
        {"busybox", KIND_PLAIN},     {"exec", KIND_WRAPPER},
        {"curl", KIND_NETWORK},      {"ssh", KIND_NETWORK},
        {"nc", KIND_NETWORK},        {"sudo", KIND_PRIVILEGE},
        {"crontab", KIND_PRIVILEGE}, {"nsenter", KIND_PRIVILEGE},
        {"base64", KIND_DECODER},    {"xxd", KIND_DECODER},
        {"gunzip", KIND_DECODER},    {"tr", KIND_DECODER},
        {"ls", KIND_PLAIN},          {"ld-linux-x86-64.so.2", KIND_WRAPPER},
        {"setarch", KIND_WRAPPER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct knowledge *command = find(rows[i].name);
        tap_check(command && command->kind == rows[i].kind, "the kind of %s", rows[i].name);
    }
    /* What runs a command is seen to run it. */
    static const char *const wrappers[] = {
        "busybox", "chroot",  "chrt",     "command", "env",         "exec",    "flock",
        "ionice",  "nice",    "nohup",    "nsenter", "pkexec",      "runuser", "setpriv",
        "setsid",  "stdbuf",  "strace",   "sudo",    "systemd-run", "taskset", "time",
        "timeout", "unshare", "valgrind", "xargs",   "xvfb-run"};
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
        const struct knowledge *command = find(wrappers[i]);
        tap_check(command && command->operand_count &&
                      command->operands[command->operand_count - 1].role == ROLE_ARGV &&
                      command->flags & KNOWN_FIRST,
                  "%s ends in a command", wrappers[i]);
    }
    const struct knowledge *netns = find_sub("ip", "netns");
    const struct knowledge *inside = netns ? knowledge_subcommand(netns, "exec", 4) : NULL;
    tap_check(inside && inside->operands[1].role == ROLE_ARGV, "ip netns exec runs a command");
    const struct knowledge *bisect = find_sub("git", "bisect");
    const struct knowledge *run = bisect ? knowledge_subcommand(bisect, "run", 3) : NULL;
    tap_check(run && run->operands[0].role == ROLE_ARGV, "git bisect run runs a command");
    tap_check(find("nproc")->flags & KNOWN_NUMBER, "nproc prints a number");
    tap_check(find("bash")->flags & KNOWN_STDIN_CODE && find("python")->flags & KNOWN_STDIN_CODE,
              "some run their input");
    tap_check(find("cipher")->flags & KNOWN_SWITCHES && find("tar")->flags & KNOWN_NO_DASH &&
                  find("echo")->flags & KNOWN_NO_OPTIONS && find("find")->flags & KNOWN_SINGLE,
              "styles of options");
    const struct knowledge *reflog = find_sub("git", "reflog");
    const struct knowledge *expire = reflog ? knowledge_subcommand(reflog, "expire", 6) : NULL;
    tap_check(expire && expire->effects & EFFECT_IRREVERSIBLE && find("deploy") &&
                  find("deploy")->effects & EFFECT_IRREVERSIBLE &&
                  find_sub("git", "push")->effects & EFFECT_IRREVERSIBLE &&
                  find_sub("npm", "publish")->effects & EFFECT_IRREVERSIBLE,
              "what cannot be undone");
}

static void test_settings_and_variables(void)
{
    const struct knowledge *git = find("git");
    static const char *const run[] = {"core.pager",     "CORE.EDITOR",       "core.sshCommand",
                                      "alias.st",       "diff.x.textconv",   "filter.lfs.clean",
                                      "pager.log",      "core.fsmonitor",    "sequence.editor",
                                      "merge.x.driver", "credential.helper", "difftool.x.cmd"};
    for (size_t i = 0; i < sizeof(run) / sizeof(*run); i++) {
        const struct knowledge_setting *s = knowledge_setting(git, run[i], strlen(run[i]));
        tap_check(s && s->role == ROLE_SHELL && s->flags & MARK_ASK, "git -c %s runs", run[i]);
    }
    static const char *const plain[] = {"color.ui",      "core.quotepath",     "user.name",
                                        "advice.x",      "log.date",           "diff.renames",
                                        "core.autocrlf", "init.defaultBranch", "commit.gpgsign"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        const struct knowledge_setting *s = knowledge_setting(git, plain[i], strlen(plain[i]));
        tap_check(s && s->role == ROLE_TEXT && !(s->flags & MARK_ASK), "git -c %s", plain[i]);
    }
    tap_check(setting_role(git, "core.hooksPath") != ROLE_COUNT &&
                  knowledge_setting(git, "core.hooksPath", 14)->flags & MARK_ASK &&
                  setting_role(git, "nobody.knows") == ROLE_COUNT,
              "others are asked for, or not known");
    tap_check(setting_role(find("dd"), "of") == ROLE_WRITE, "dd of= is written");

    static const char *const asked[] = {
        "LD_PRELOAD", "LD_BIND_NOW",      "PATH",           "BASH_ENV",
        "PWD",        "PYTHONPATH",       "NODE_OPTIONS",   "PERL5OPT",
        "GIT_DIR",    "GIT_CONFIG_COUNT", "PROMPT_COMMAND", "LESSOPEN"};
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
        tap_check(variable(asked[i]) && variable(asked[i])->flags & MARK_ASK &&
                      variable(asked[i])->why[0],
                  "the variable %s", asked[i]);
    tap_check(variable("GIT_PAGER")->role == ROLE_SHELL && variable("LC_ALL")->role == ROLE_TEXT &&
                  !variable("GIT_AUTHOR_NAME")->flags && !variable("FOO"),
              "others");
}

int main(void)
{
    arena_init(&arena, &allocator_libc, 64 << 20);
    test_reading();
    test_refusals();
    test_lookups();
    test_builtin();
    test_options();
    test_kinds();
    test_settings_and_variables();
    arena_release(&arena);
    return tap_done();
}
