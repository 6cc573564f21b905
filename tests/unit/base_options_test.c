/* Options: parsing, help, completions and the manual's tables, all from one set of odd tables. */
#include <errno.h>
#include <stdlib.h>

#include "base/options.h"
#include "base/utf8.h"
#include "tap.h"

struct fields {
    bool json, quiet;
    const char *agent, *format, *workspace, *config, *level;
    uint64_t timeout_ms;
    struct option_list limits;
    int canary;
};

#define FIELD(member) offsetof(struct fields, member)

static const struct option run_options[] = {
    {"timeout", 't', OPTION_DURATION, "TIME", NULL, COMPLETES_NOTHING, "stop [after]: this",
     FIELD(timeout_ms)},
    {"json", 'j', OPTION_FLAG, NULL, NULL, COMPLETES_NOTHING,
     "print all that is known about the result, as JSON, on one line that is as long as it must be",
     FIELD(json)},
    {"quiet", 'q', OPTION_FLAG, NULL, NULL, COMPLETES_NOTHING, "say nothing, don't ask",
     FIELD(quiet)},
    {"format", 'f', OPTION_CHOICE, NULL, "text|json", COMPLETES_NOTHING, "how to print",
     FIELD(format)},
    {"level", 0, OPTION_CHOICE, "LEVEL", "it's|a b|c:d", COMPLETES_NOTHING, "how much",
     FIELD(level)},
    {"agent", 'a', OPTION_TEXT, NULL, NULL, COMPLETES_NOTHING, "who asks \\ \"why\"", FIELD(agent)},
    {"workspace", 'w', OPTION_TEXT, "DIR", NULL, COMPLETES_DIRECTORY, "where", FIELD(workspace)},
    {"config", 0, OPTION_TEXT, "FILE", NULL, COMPLETES_FILE, "settings", FIELD(config)},
    {"limit", 'l', OPTION_LIST, "NAME=VALUE", NULL, COMPLETES_NOTHING, "a limit", FIELD(limits)},
    {0},
};

static const struct command run = {
    .name = "run",
    .summary = "run it's all: safely",
    .synopsis = "'TEXT' | -- ARGV… | -",
    .description = "Runs a command. It is judged before it runs, and what it may do depends on "
                   "that.\nSame paragraph.\n\n.Dot and 'quote', --read-path.\n\n  nacre run 'ls "
                   "-l'\n    .dot\n\nLast.",
    .options = run_options,
    .options_size = sizeof(struct fields),
};

static const struct command completions = {
    .name = "completions",
    .summary = "print completions",
    .synopsis = "SHELL",
    .operand_choices = "bash|zsh|fish",
};

static const struct command test_command = {.name = "test", .summary = "judge"};

static const struct command *const commands[] = {&run, &completions, &test_command, NULL};

/* The last line that was parsed. */
static struct fields fields;
static struct options_parsed parsed;
static struct err error;
static char *line_words[OPTION_LIST_MAX * 2 + 10];

static int parse_words(const struct command *command, int count)
{
    line_words[count] = NULL;
    error = (struct err){0};
    fields.canary = 7;
    parsed = (struct options_parsed){.count = -1};
    return options_parse(command, count, line_words, &fields, &parsed, &error);
}

/* Words parted by single spaces; the text must outlive the parsed line. */
static int parse(char *text)
{
    int count = 0;
    for (char *word; (word = strsep(&text, " "));)
        line_words[count++] = word;
    return parse_words(&run, count);
}

#define PARSE(text)                                                                                \
    static char words[] = text;                                                                    \
    int r = parse(words)

static void refused(const char *text, const char *message)
{
    char words[1200];
    snprintf(words, sizeof(words), "%s", text);
    int r = parse(words);
    tap_check(r == -EINVAL && error.code == -EINVAL && parsed.count == -1, "parse: refused: %s",
              text);
    tap_text(error.message, message, "parse: and says why");
}

static void test_parse_errors(void)
{
    refused("--timout 5s", "unknown option '--timout'; did you mean '--timeout'?");
    refused("--timeuot=5s", "unknown option '--timeuot'; did you mean '--timeout'?");
    refused("--TIMEOUT", "unknown option '--TIMEOUT'; did you mean '--timeout'?");
    refused("--time 5s", "unknown option '--time'; did you mean '--timeout'?");
    refused("--hlep", "unknown option '--hlep'; did you mean '--help'?");
    refused("--bogus-thing", "unknown option '--bogus-thing'");
    refused("--xyz", "unknown option '--xyz'");
    refused("--=x", "unknown option '--'");
    refused("---json", "unknown option '---json'; did you mean '--json'?");
    refused("-x", "unknown option '-x'");
    refused("-jx", "unknown option '-x'");
    refused("-jjson", "unknown option '-s'");
    refused("-config x", "unknown option '-config'; did you mean '--config'?");
    refused("-confg=x", "unknown option '-confg'; did you mean '--config'?");
    refused("-j\xC3\xA9", "unknown option '-\xC3\xA9'");
    refused("-j\xFF", "unknown option '-\xFF'");
    refused("--timeout", "option '--timeout' needs a value");
    refused("x -t", "option '-t' needs a value");
    refused("-jt", "option '-t' needs a value");
    refused("--json=yes", "option '--json' takes no value");
    refused("--json=", "option '--json' takes no value");
    refused("--help=x", "option '--help' takes no value");
    refused("--format xml", "'--format' must be one of text, json, not 'xml'");
    refused("--format=", "'--format' must be one of text, json, not ''");
    refused("-ftex", "'--format' must be one of text, json, not 'tex'");
    refused("-f text|json", "'--format' must be one of text, json, not 'text|json'");
    refused("--timeout 5x", "'--timeout': '5x' is not a duration (try 30s, 5m or 500ms)");
    refused("-t=5", "'--timeout': '=5' is not a duration (try 30s, 5m or 500ms)");
    refused("-t 99999999999999999999s",
            "'--timeout': '99999999999999999999s' is too long to count");

    char longest[1000] = "--";
    memset(longest + 2, 'x', sizeof(longest) - 3);
    longest[sizeof(longest) - 1] = '\0';
    parse(longest);
    tap_number((long long)strlen(error.message), ERR_MESSAGE_MAX - 1, "parse: a long word is cut");

    char word[] = "--json=x";
    line_words[0] = word;
    line_words[1] = NULL;
    tap_number(options_parse(&run, 1, line_words, &fields, &parsed, NULL), -EINVAL,
               "parse: no place for the message");
}

static void test_parse_values(void)
{
    {
        PARSE("--timeout 5s -j --format=json -a me -w/tmp --config= -l a=1 --limit=b=2 -lc");
        tap_number(r, 0, "parse: every kind");
        tap_check(fields.timeout_ms == 5000 && fields.json && !fields.quiet, "parse: numbers");
        tap_text(fields.format, "json", "parse: a choice");
        tap_text(fields.agent, "me", "parse: a text");
        tap_text(fields.workspace, "/tmp", "parse: a glued value");
        tap_text(fields.config, "", "parse: an empty value is one");
        tap_check(!fields.level, "parse: what is not given is null");
        tap_number((long long)fields.limits.count, 3, "parse: a list");
        tap_text(fields.limits.value[0], "a=1", "parse: first of the list");
        tap_text(fields.limits.value[1], "b=2", "parse: only the first = parts");
        tap_text(fields.limits.value[2], "c", "parse: last of the list");
        tap_check(parsed.count == 0 && !parsed.help && !parsed.separator, "parse: no operands");
        tap_number(fields.canary, 0, "parse: fields are zeroed first");
    }
    {
        PARSE("-jqt5m -a --json -a - --format text --format json");
        tap_check(r == 0 && fields.json && fields.quiet && fields.timeout_ms == 300000,
                  "parse: a bundle with a value at its end");
        tap_text(fields.agent, "-", "parse: the last one wins, and a value may start with a dash");
        tap_text(fields.format, "json", "parse: so it is with choices");
    }
    {
        PARSE("-ajq");
        tap_check(r == 0 && !fields.json, "parse: what stands behind a letter with a value is its");
        tap_text(fields.agent, "jq", "parse: value");
    }

    char option[] = "-lx";
    int count = 0;
    while (count < OPTION_LIST_MAX)
        line_words[count++] = option;
    tap_check(parse_words(&run, count) == 0 && fields.limits.count == OPTION_LIST_MAX,
              "parse: a full list");
    for (count = 0; count <= OPTION_LIST_MAX;)
        line_words[count++] = option;
    tap_number(parse_words(&run, count), -EINVAL, "parse: an overfull list");
    tap_text(error.message, "'--limit' can be given at most 64 times", "parse: and says why");
}

static void test_parse_operands(void)
{
    {
        PARSE("one -j two --timeout 1 - three");
        tap_check(r == 0 && parsed.count == 4 && fields.json, "parse: options and operands mix");
        tap_text(parsed.operands[0], "one", "parse: first operand");
        tap_text(parsed.operands[1], "two", "parse: second operand");
        tap_text(parsed.operands[2], "-", "parse: a lone dash is an operand");
        tap_text(parsed.operands[3], "three", "parse: last operand");
        tap_check(!parsed.operands[4] && !parsed.separator, "parse: a NULL behind them");
    }
    {
        PARSE("-j -- ls -- --json -q --help");
        tap_check(r == 0 && parsed.separator && parsed.count == 5, "parse: -- ends the options");
        tap_check(!parsed.help && !fields.quiet, "parse: and nothing behind it is one");
        tap_text(parsed.operands[1], "--", "parse: a second -- is an operand");
        tap_text(parsed.operands[4], "--help", "parse: the last one too");
    }
    {
        PARSE("a -- b");
        tap_check(r == 0 && !parsed.separator && parsed.count == 2,
                  "parse: -- behind an operand is not before them");
    }
    {
        PARSE("--");
        tap_check(r == 0 && parsed.separator && parsed.count == 0, "parse: -- alone");
    }
    {
        PARSE("--agent -- x");
        tap_check(r == 0 && !parsed.separator && parsed.count == 1, "parse: -- as a value");
        tap_text(fields.agent, "--", "parse: is a value");
    }
    char empty[] = "";
    line_words[0] = empty;
    tap_check(parse_words(&run, 1) == 0 && parsed.count == 1, "parse: an empty word is an operand");
    tap_check(parse_words(&run, 0) == 0 && parsed.count == 0, "parse: no words");
}

static void test_parse_help(void)
{
    {
        PARSE("x --help --bogus");
        tap_check(r == 0 && parsed.help, "parse: help comes before what is wrong behind it");
    }
    {
        PARSE("-jhx");
        tap_check(r == 0 && parsed.help && fields.json, "parse: help in a bundle");
    }
    {
        PARSE("-a -h");
        tap_check(r == 0 && !parsed.help, "parse: -h as a value");
    }
    char help[] = "-h", other[] = "-j";
    line_words[0] = help;
    tap_check(parse_words(&completions, 1) == 0 && parsed.help, "parse: help without a table");
    tap_number(fields.canary, 7, "parse: a command without options writes no fields");
    line_words[0] = other;
    tap_number(parse_words(&completions, 1), -EINVAL, "parse: nothing else without a table");
}

static void test_find(void)
{
    const char *nearest = "x";
    tap_check(options_find_command(commands, "test", &nearest) == &test_command, "find: a command");
    tap_check(!nearest, "find: then there is no other");
    static const char *const near[][2] = {
        {"rnu", "run"},    {"Run", "run"}, {"tset", "test"}, {"compl", "completions"},
        {"tests", "test"}, {"", NULL},     {"x", NULL},      {"fun-run", NULL},
        {"abc", NULL},     {"rab", NULL},  {"r", "run"}};
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        tap_check(!options_find_command(commands, near[i][0], &nearest), "find: no '%s'",
                  near[i][0]);
        tap_text(nearest, near[i][1], "find: nearest");
    }
    const struct command *const none[] = {NULL};
    tap_check(!options_find_command(none, "run", &nearest) && !nearest, "find: in nothing");
}

static void has(const struct buf *b, const char *text)
{
    if (!tap_check(strstr(b->data, text) != NULL, "has: %s", text))
        printf("#   not in:\n%s\n", b->data);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0, width = 0;
    for (; *text; text++) {
        if (*text == '\n')
            width = 0;
        else
            width += ((unsigned char)*text & 0xC0) != 0x80;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void test_help(struct buf *b)
{
    tap_number(options_help_program(commands, b), 0, "help: of the program");
    tap_text(b->data,
             "usage: nacre COMMAND [options] [args]\n"
             "\n"
             "commands:\n"
             "  run          run it's all: safely\n"
             "  completions  print completions\n"
             "  test         judge\n"
             "\n"
             "'nacre COMMAND --help' says more about a command; 'nacre --version'\n",
             "help: of the program, its text");

    buf_clear(b);
    tap_number(options_help_command(&run, b), 0, "help: of a command");
    tap_text(b->data,
             "usage: nacre run [options] 'TEXT' | -- ARGV… | -\n"
             "\n"
             "Runs a command. It is judged before it runs, and what it may do depends on that.\n"
             "Same paragraph.\n"
             "\n"
             ".Dot and 'quote', --read-path.\n"
             "\n"
             "  nacre run 'ls -l'\n"
             "    .dot\n"
             "\n"
             "Last.\n"
             "\n"
             "options:\n"
             "  -t, --timeout TIME      stop [after]: this\n"
             "  -j, --json              print all that is known about the result, as JSON, on\n"
             "                          one line that is as long as it must be\n"
             "  -q, --quiet             say nothing, don't ask\n"
             "  -f, --format text|json  how to print\n"
             "      --level LEVEL       how much: it's, a b, c:d\n"
             "  -a, --agent VALUE       who asks \\ \"why\"\n"
             "  -w, --workspace DIR     where\n"
             "      --config FILE       settings\n"
             "  -l, --limit NAME=VALUE  a limit\n"
             "  -h, --help              show this help\n",
             "help: of a command, its text");
    tap_check(widest_line(b->data) <= 80, "help: 80 columns");

    buf_clear(b);
    options_help_command(&test_command, b);
    tap_text(b->data,
             "usage: nacre test [options]\n\njudge\n\noptions:\n  -h, --help  show this help\n",
             "help: of a command with little to say");

    /* Words of every length meet the border; a label that is too long gets a line of its own. */
    static const struct option long_options[] = {
        {.name = "an-option-with-a-name-that-is-too-long-for-its-column", .help = "goes on below"},
        {0},
    };
    char description[200];
    bool fits = true;
    for (size_t len = 1; len < 59; len++) {
        memset(description, 'x', sizeof(description));
        description[len] = ' ';
        description[60] = ' ';
        description[125] = '\0';
        const struct command c = {.name = "c",
                                  .description = description,
                                  .synopsis = description,
                                  .options = long_options};
        buf_clear(b);
        options_help_command(&c, b);
        fits = fits && widest_line(b->data) <= 80;
        fits = fits && strstr(b->data, " \n") == NULL;
    }
    tap_check(fits, "help: lines end in time, without spaces");
    has(b, "\n      --an-option-with-a-name-that-is-too-long-for-its-column\n"
           "              goes on below\n  -h, --help  show this help\n");
}

static void test_bash(struct buf *b)
{
    tap_number(options_complete_bash(commands, b), 0, "bash");
    has(b, "complete -F _nacre nacre\n");
    has(b, "    _nacre_words 'run' 'completions' 'test'\n");
    has(b, "    'run --timeout' | 'run -t') ;;\n");
    has(b, "    'run --format' | 'run -f') _nacre_words 'text' 'json' ;;\n");
    has(b, "    'run --level') _nacre_words 'it'\\''s' 'a b' 'c:d' ;;\n");
    has(b, "    'run --workspace' | 'run -w') _nacre_files -d ;;\n");
    has(b, "    'run --config') _nacre_files -f ;;\n");
    has(b, "    'completions') (($2)) || _nacre_words 'bash' 'zsh' 'fish' ;;\n");
    has(b, "    'test') _nacre_files -f ;;\n");
    has(b, "    'test') _nacre_words '--help' '-h' ;;\n");
    tap_check(!strstr(b->data, "'run --json' |"), "bash: flags take no value");
}

static void test_zsh(struct buf *b)
{
    tap_number(options_complete_zsh(commands, b), 0, "zsh");
    tap_check(strncmp(b->data, "#compdef nacre\n", 15) == 0, "zsh: compdef comes first");
    has(b, "'run:run it'\\''s all: safely'");
    has(b, "'(-t --timeout)-t+[stop \\[after\\]\\: this]:TIME: '");
    has(b, "'(-t --timeout)--timeout=[stop \\[after\\]\\: this]:TIME: '");
    has(b, "'(-q --quiet)--quiet[say nothing, don'\\''t ask]'");
    has(b, "'(-f --format)--format=[how to print]:format:(text json)'");
    has(b, "'--level=[how much]:LEVEL:(it\\'\\''s a\\ b c\\:d)'");
    has(b, "'(-a --agent)-a+[who asks \\\\ \"why\"]:agent: '");
    has(b, "'(-w --workspace)--workspace=[where]:DIR:_files -/'");
    has(b, "'--config=[settings]:FILE:_files'");
    has(b, "'*--limit=[a limit]:NAME=VALUE: '");
    has(b, "'(- *)--help[show this help]'");
    has(b, "'1: :(bash zsh fish)'");
    has(b, "'*: :_files'");
}

static void test_fish(struct buf *b)
{
    tap_number(options_complete_fish(commands, b), 0, "fish");
    has(b, "complete -c nacre -n __nacre_no_command -a 'run' -d 'run it\\'s all: safely'\n");
    has(b, "-n '__nacre_command run' -s t -l 'timeout' -x -d 'stop [after]: this'\n");
    has(b, "-n '__nacre_command run' -s q -l 'quiet' -d 'say nothing, don\\'t ask'\n");
    has(b, "-s f -l 'format' -x -a 'text json' -d 'how to print'\n");
    has(b, "-l 'level' -x -a 'it\\\\\\'s a\\\\ b c\\\\:d' -d 'how much'\n");
    has(b, "-s a -l 'agent' -x -d 'who asks \\\\ \"why\"'\n");
    has(b, "-s w -l 'workspace' -x -a '(__fish_complete_directories)' -d 'where'\n");
    has(b, "-l 'config' -r -F -d 'settings'\n");
    has(b, "-n '__nacre_first_operand completions' -a 'bash zsh fish'\n");
    has(b, "-n '__nacre_command test' -F\n");
}

static void test_man(struct buf *b)
{
    tap_number(options_man_tables(commands, b), 0, "man");
    has(b, ".Ss run\n"
           ".Bd -ragged -offset indent\n"
           ".Nm nacre\n"
           ".Cm run\n"
           ".Op Ar options\n"
           "\\(aqTEXT\\(aq | \\-\\- ARGV\\[u2026] | \\-\n"
           ".Ed\n"
           ".Pp\n"
           "Runs a command.\n"
           "It is judged before it runs, and what it may do depends on that.\n"
           "Same paragraph.\n"
           ".Pp\n"
           "\\&.Dot and \\(aqquote\\(aq, \\-\\-read\\-path.\n"
           ".Bd -literal -offset indent\n"
           "nacre run \\(aqls \\-l\\(aq\n"
           "  .dot\n"
           ".Ed\n"
           ".Pp\n"
           "Last.\n"
           ".Bl -tag -width Ds\n"
           ".It Fl t , Fl \\-timeout Ar TIME\n"
           "stop [after]: this\n");
    has(b, "\n.It Fl f , Fl \\-format Cm text | Cm json\nhow to print\n");
    has(b, "\n.It Fl \\-level Ar LEVEL\nhow much: it\\(aqs, a b, c:d\n");
    has(b, "\n.It Fl w , Fl \\-workspace Ar \\&DIR\nwhere\n");
    has(b, "\nwho asks \\e \\(dqwhy\\(dq\n");
    has(b, "\n.It Fl h , Fl \\-help\nshow this help\n.El\n.Ss completions\n");
    tap_check(widest_line(b->data) <= 80 && !strstr(b->data, " \n") && !strstr(b->data, "\n\n"),
              "man: short lines, no spaces at their ends, no empty ones");

    static const struct command odd = {.name = "odd",
                                       .description =
                                           "'x --- .y \\fBz -- \xFF"
                                           "e (e.g. this) why? yes! so.\n'.z\n\n \n .TH\n \\n"};
    static const struct command *const odds[] = {&odd, NULL};
    buf_clear(b);
    options_man_tables(odds, b);
    has(b, "\n\\(aqx \\-\\-\\- \\&.y \\efBz \\-\\- \\[uFFFD]e (e.g.\nthis) "
           "why?\nyes!\nso.\n\\(aq.z\n");
    has(b, "\n\\&.TH\n\\en\n.Ed\n");
}

/* Fails one time, after `left` allocations: a failure must not be covered up by later success. */
static void *failing_resize(void *user, void *old, size_t size)
{
    long *left = user;
    if (size == 0) {
        free(old);
        return NULL;
    }
    if ((*left)-- == 0)
        return NULL;
    return realloc(old, size);
}

static int help_run(const struct command *const *list, struct buf *out)
{
    return options_help_command(list[0], out);
}

static void test_failures(void)
{
    static const struct {
        int (*render)(const struct command *const *list, struct buf *out);
        const char *name;
    } renderings[] = {
        {options_help_program, "program"}, {help_run, "command"},
        {options_complete_bash, "bash"},   {options_complete_zsh, "zsh"},
        {options_complete_fish, "fish"},   {options_man_tables, "man"},
    };
    for (size_t i = 0; i < sizeof(renderings) / sizeof(renderings[0]); i++) {
        struct buf b, whole;
        buf_init(&whole, &allocator_libc, 1 << 20);
        tap_check(renderings[i].render(commands, &whole) == 0 && whole.len > 100 &&
                      utf8_valid(whole.data, whole.len),
                  "%s: text", renderings[i].name);

        long left, turns = 0;
        const struct allocator allocator = {failing_resize, &left};
        bool right = true;
        for (int r = -1; r != 0 && turns < 200; turns++) {
            left = turns;
            buf_init(&b, &allocator, 1 << 20);
            r = renderings[i].render(commands, &b);
            right = right && r == (left < 0 ? -ENOMEM : 0);
            right = right && (r < 0 || strcmp(b.data, whole.data) == 0);
            buf_release(&b);
        }
        tap_check(right && turns > 1 && turns < 200, "%s: each failing allocation is reported",
                  renderings[i].name);

        buf_init(&b, &allocator_libc, whole.len);
        tap_check(renderings[i].render(commands, &b) == 0, "%s: fits", renderings[i].name);
        buf_release(&b);
        right = true;
        for (size_t max = 0; max < whole.len; max++) {
            buf_init(&b, &allocator_libc, max);
            right = right && renderings[i].render(commands, &b) == -E2BIG;
            buf_release(&b);
        }
        tap_check(right, "%s: does not fit into less", renderings[i].name);
        buf_release(&whole);
    }
}

int main(void)
{
    struct buf b;
    buf_init(&b, &allocator_libc, 1 << 20);
    test_parse_errors();
    test_parse_values();
    test_parse_operands();
    test_parse_help();
    test_find();
    test_help(&b);
    buf_clear(&b);
    test_bash(&b);
    buf_clear(&b);
    test_zsh(&b);
    buf_clear(&b);
    test_fish(&b);
    buf_clear(&b);
    test_man(&b);
    buf_release(&b);
    test_failures();
    return tap_done();
}
