/*
 * Completions for bash, zsh and fish, from the tables; see options.h.
 *
 * All text from the tables stands in single quotes. The word `shell` before a command is stepped
 * over but not offered: it means nothing. Operands without choices complete as files.
 */
#include <string.h>

#include "base/options.h"

enum quoting { QUOTING_SH, QUOTING_FISH };

/*
 * Text inside single quotes that the caller opens and closes. Characters in `special` get a
 * backslash that outlives the quotes, for what reads the text afterwards.
 */
static void put(struct buf *out, enum quoting quoting, const char *special, const char *text,
                size_t len)
{
    const char *backslash = quoting == QUOTING_FISH ? "\\\\" : "\\";
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr(special, text[i]))
            buf_append_text(out, backslash);
        if (text[i] == '\'')
            buf_append_text(out, quoting == QUOTING_FISH ? "\\'" : "'\\''");
        else if (text[i] == '\\')
            buf_append_text(out, backslash);
        else
            buf_append_byte(out, text[i]);
    }
}

static void put_text(struct buf *out, enum quoting quoting, const char *special, const char *text)
{
    if (text)
        put(out, quoting, special, text, strlen(text));
}

/* The choices, each behind `before`, and what the shell's own reading of a list obeys escaped. */
static void put_choices(struct buf *out, enum quoting quoting, const char *choices)
{
    struct options_piece choice;
    for (const char *before = ""; options_next_choice(&choices, &choice); before = " ") {
        buf_append_text(out, before);
        put(out, quoting, " \t\n\\'\"`$&|;<>()[]{}*?~#!^=:%", choice.text, choice.len);
    }
}

/* " 'word'" for a shell's argument list. */
static void append_word(struct buf *out, const char *dashes, const char *word, size_t len)
{
    buf_append_format(out, " '%s", dashes);
    put(out, QUOTING_SH, "", word, len);
    buf_append_byte(out, '\'');
}

static void append_words(struct buf *out, const char *choices)
{
    struct options_piece choice;
    while (options_next_choice(&choices, &choice))
        append_word(out, "", choice.text, choice.len);
}

/* Bash: the shape is fixed; the tables fill four case statements. */

static const char bash_helpers[] =
    "# shellcheck shell=bash disable=SC2016\n"
    "# bash completion for nacre\n"
    "\n"
    "# Answers with those of the words that start as $cur does.\n"
    "_nacre_words() {\n"
    "    local word\n"
    "    for word; do\n"
    "        [[ $word == \"$cur\"* ]] || continue\n"
    "        printf -v word '%q' \"$word\"\n"
    "        COMPREPLY+=(\"$prefix$word\")\n"
    "    done\n"
    "}\n"
    "\n"
    "# Answers with files (-f) or directories (-d); readline itself knows about names in quotes.\n"
    "_nacre_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" \"$1\" -- \"$cur\")\n"
    "    ((${#COMPREPLY[@]})) && return\n"
    "    if [[ $1 == -d ]]; then\n"
    "        compopt -o dirnames 2>/dev/null\n"
    "    else\n"
    "        compopt -o default 2>/dev/null\n"
    "    fi\n"
    "}\n";

static const char bash_main[] =
    "_nacre() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prefix='' command option='' word\n"
    "    local -i at=1 i operands=0 ended=0\n"
    "    COMPREPLY=()\n"
    "    ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == shell ]] && at=2\n"
    "    if ((COMP_CWORD == at)); then\n"
    "        _nacre_commands\n"
    "        return\n"
    "    fi\n"
    "    command=${COMP_WORDS[at]}\n"
    "\n"
    "    # Whose value is being typed, or which operand? Bash parts words at = and : too.\n"
    "    for ((i = at + 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == [=:]* ]]; then\n"
    "            [[ $option ]] || i+=1\n"
    "        elif [[ $option ]]; then\n"
    "            option=''\n"
    "        elif ((ended)) || [[ $word != -?* ]]; then\n"
    "            operands+=1\n"
    "        elif [[ $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif _nacre_takes_value \"$command $word\"; then\n"
    "            option=$word\n"
    "        fi\n"
    "    done\n"
    "    if [[ $option && $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ ! $option && $cur == --*=* ]] && ((!ended)); then\n"
    "        option=${cur%%=*}\n"
    "        prefix=$option=\n"
    "        cur=${cur#*=}\n"
    "    fi\n"
    "\n"
    "    if [[ $option ]]; then\n"
    "        _nacre_values \"$command $option\"\n"
    "    elif ((!ended)) && [[ $cur == -* ]]; then\n"
    "        _nacre_options \"$command\"\n"
    "    else\n"
    "        _nacre_operands \"$command\" \"$operands\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _nacre nacre\n";

/* "    'run --timeout' | 'run -t')" */
static void append_bash_pattern(struct buf *out, const char *command, const struct option *o)
{
    buf_append_text(out, "    '");
    put_text(out, QUOTING_SH, "", command);
    buf_append_text(out, " --");
    put_text(out, QUOTING_SH, "", o->name);
    if (o->letter) {
        buf_append_text(out, "' | '");
        put_text(out, QUOTING_SH, "", command);
        buf_append_format(out, " -%c", o->letter);
    }
    buf_append_text(out, "')");
}

/* The names of all options that take a value, or what these values are. */
static void append_bash_values(const struct command *const *commands, bool values, struct buf *out)
{
    for (; *commands; commands++) {
        const struct option *o = NULL;
        while ((o = options_next(*commands, o))) {
            if (!options_takes_value(o))
                continue;
            bool known = o->kind == OPTION_CHOICE || o->completes != COMPLETES_NOTHING;
            if (values && !known)
                continue;
            append_bash_pattern(out, (*commands)->name, o);
            if (values && o->kind == OPTION_CHOICE) {
                buf_append_text(out, " _nacre_words");
                append_words(out, o->choices);
            } else if (values) {
                buf_append_format(out, " _nacre_files %s",
                                  o->completes == COMPLETES_DIRECTORY ? "-d" : "-f");
            }
            buf_append_text(out, " ;;\n");
        }
    }
}

static void append_bash_options(const struct command *command, struct buf *out)
{
    buf_append_text(out, "   ");
    append_word(out, "", command->name, strlen(command->name));
    buf_append_text(out, ") _nacre_words");
    const struct option *o = NULL;
    while ((o = options_next(command, o))) {
        append_word(out, "--", o->name, strlen(o->name));
        if (o->letter)
            append_word(out, "-", &o->letter, 1);
    }
    buf_append_text(out, " ;;\n");
}

static void append_bash_operands(const struct command *command, struct buf *out)
{
    buf_append_text(out, "   ");
    append_word(out, "", command->name, strlen(command->name));
    if (command->operand_choices) {
        buf_append_text(out, ") (($2)) || _nacre_words");
        append_words(out, command->operand_choices);
        buf_append_text(out, " ;;\n");
    } else {
        buf_append_text(out, ") _nacre_files -f ;;\n");
    }
}

int options_complete_bash(const struct command *const *commands, struct buf *out)
{
    static const char end[] = "    esac\n}\n\n";
    buf_append_text(out, bash_helpers);

    buf_append_text(out, "\n_nacre_commands() {\n"
                         "    [[ $cur != -* ]] || _nacre_words --help -h --version\n"
                         "    _nacre_words");
    for (size_t i = 0; commands[i]; i++)
        append_word(out, "", commands[i]->name, strlen(commands[i]->name));
    buf_append_text(out, "\n}\n\n");

    buf_append_text(out, "_nacre_takes_value() {\n    case $1 in\n");
    append_bash_values(commands, false, out);
    buf_append_text(out, "    *) return 1 ;;\n");
    buf_append_text(out, end);

    buf_append_text(out, "_nacre_values() {\n    case $1 in\n");
    append_bash_values(commands, true, out);
    buf_append_text(out, end);

    buf_append_text(out, "_nacre_options() {\n    case $1 in\n");
    for (size_t i = 0; commands[i]; i++)
        append_bash_options(commands[i], out);
    buf_append_text(out, end);

    buf_append_text(out, "_nacre_operands() {\n    case $1 in\n");
    for (size_t i = 0; commands[i]; i++)
        append_bash_operands(commands[i], out);
    buf_append_text(out, end);
    return buf_append_text(out, bash_main);
}

/* Zsh: _arguments does the work, from one specification for each way to write an option. */

static void append_zsh_value(struct buf *out, const struct option *o)
{
    buf_append_byte(out, ':');
    put_text(out, QUOTING_SH, ":\\", o->value_name ? o->value_name : o->name);
    buf_append_byte(out, ':');
    if (o->kind == OPTION_CHOICE) {
        buf_append_byte(out, '(');
        put_choices(out, QUOTING_SH, o->choices);
        buf_append_byte(out, ')');
    } else if (o->completes == COMPLETES_NOTHING) {
        buf_append_byte(out, ' ');
    } else {
        buf_append_text(out, o->completes == COMPLETES_DIRECTORY ? "_files -/" : "_files");
    }
}

/* One spelling: "'(-t --timeout)--timeout=[stop after this time]:TIME: '". */
static void append_zsh_spelling(struct buf *out, const struct option *o, bool is_help, bool letter)
{
    buf_append_text(out, " \\\n            '");
    if (is_help) {
        buf_append_text(out, "(- *)");
    } else if (o->kind == OPTION_LIST) {
        buf_append_byte(out, '*');
    } else if (o->letter) {
        buf_append_format(out, "(-%c --", o->letter);
        put_text(out, QUOTING_SH, "", o->name);
        buf_append_byte(out, ')');
    }
    if (letter) {
        buf_append_format(out, "-%c", o->letter);
    } else {
        buf_append_text(out, "--");
        put_text(out, QUOTING_SH, ":[]\\", o->name);
    }
    if (options_takes_value(o))
        buf_append_text(out, letter ? "+" : "=");
    buf_append_byte(out, '[');
    put_text(out, QUOTING_SH, ":[]\\", o->help);
    buf_append_byte(out, ']');
    if (options_takes_value(o))
        append_zsh_value(out, o);
    buf_append_byte(out, '\'');
}

static void append_zsh_command(const struct command *command, struct buf *out)
{
    buf_append_text(out, "       ");
    append_word(out, "", command->name, strlen(command->name));
    buf_append_text(out, ")\n        _arguments -s -S :");
    const struct option *o = NULL;
    while ((o = options_next(command, o))) {
        bool is_help = !options_next(command, o);
        if (o->letter)
            append_zsh_spelling(out, o, is_help, true);
        append_zsh_spelling(out, o, is_help, false);
    }
    if (command->operand_choices) {
        buf_append_text(out, " \\\n            '1: :(");
        put_choices(out, QUOTING_SH, command->operand_choices);
        buf_append_text(out, ")'\n");
    } else {
        buf_append_text(out, " \\\n            '*: :_files'\n");
    }
    buf_append_text(out, "        ;;\n");
}

int options_complete_zsh(const struct command *const *commands, struct buf *out)
{
    buf_append_text(out,
                    "#compdef nacre\n"
                    "\n"
                    "_nacre() {\n"
                    "    if (( CURRENT > 2 )) && [[ $words[2] == shell ]]; then\n"
                    "        shift words\n"
                    "        (( CURRENT-- ))\n"
                    "    fi\n"
                    "    if (( CURRENT == 2 )); then\n"
                    "        local -a nacre_options=('--help:show this help' '-h:show this help'\n"
                    "            '--version:show the version')\n"
                    "        local -a nacre_commands=(");
    for (size_t i = 0; commands[i]; i++) {
        buf_append_text(out, "\n            '");
        put_text(out, QUOTING_SH, ":\\", commands[i]->name);
        buf_append_byte(out, ':');
        put_text(out, QUOTING_SH, "\\", commands[i]->summary);
        buf_append_byte(out, '\'');
    }
    buf_append_text(out, ")\n"
                         "        _describe -t commands command nacre_commands\n"
                         "        _describe -o -t options option nacre_options\n"
                         "        return\n"
                         "    fi\n"
                         "    shift words\n"
                         "    (( CURRENT-- ))\n"
                         "    case $words[1] in\n");
    for (size_t i = 0; commands[i]; i++)
        append_zsh_command(commands[i], out);
    return buf_append_text(out,
                           "    esac\n"
                           "}\n"
                           "\n"
                           "# Loaded from $fpath this file is the function; sourced it is not.\n"
                           "if [[ $funcstack[1] == _nacre ]]; then\n"
                           "    _nacre \"$@\"\n"
                           "else\n"
                           "    compdef _nacre nacre\n"
                           "fi\n");
}

/* Fish: one line for each option, under a condition on the words before the cursor. */

static const char fish_helpers[] =
    "# fish completion for nacre\n"
    "\n"
    "# The words from the command on, up to the cursor.\n"
    "function __nacre_words\n"
    "    set -l words (commandline -opc)[2..]\n"
    "    test \"$words[1]\" = shell; and set -e words[1]\n"
    "    test (count $words) -gt 0; and printf '%s\\n' $words\n"
    "end\n"
    "\n"
    "function __nacre_no_command\n"
    "    test (count (__nacre_words)) -eq 0\n"
    "end\n"
    "\n"
    "function __nacre_command\n"
    "    test \"$(__nacre_words)[1]\" = $argv[1]\n"
    "end\n"
    "\n"
    "# Whether no operand stands yet behind the command. The other arguments: options with "
    "values.\n"
    "function __nacre_first_operand\n"
    "    set -l words (__nacre_words)\n"
    "    test \"$words[1]\" = $argv[1]; or return 1\n"
    "    set -l value 0\n"
    "    for word in $words[2..]\n"
    "        if test $value -eq 1\n"
    "            set value 0\n"
    "        else if contains -- $word $argv[2..]\n"
    "            set value 1\n"
    "        else if not string match -q -- '-?*' $word\n"
    "            return 1\n"
    "        end\n"
    "    end\n"
    "    return $value\n"
    "end\n"
    "\n"
    "complete -c nacre -f\n"
    "complete -c nacre -n __nacre_no_command -s h -l help -d 'show this help'\n"
    "complete -c nacre -n __nacre_no_command -l version -d 'show the version'\n";

static void append_fish_quoted(struct buf *out, const char *before, const char *text)
{
    buf_append_format(out, " %s '", before);
    put_text(out, QUOTING_FISH, "", text);
    buf_append_byte(out, '\'');
}

/* Opens the quotes of a condition that names the command. */
static void start_fish_condition(struct buf *out, const char *function, const char *command)
{
    buf_append_format(out, "complete -c nacre -n '%s ", function);
    put_text(out, QUOTING_FISH, " \\'\"$*?~#(){}[]<>^&|;%", command);
}

static void append_fish_option(const struct command *command, const struct option *o,
                               struct buf *out)
{
    start_fish_condition(out, "__nacre_command", command->name);
    buf_append_byte(out, '\'');
    if (o->letter)
        buf_append_format(out, " -s %c", o->letter);
    append_fish_quoted(out, "-l", o->name);
    if (o->kind == OPTION_CHOICE) {
        buf_append_text(out, " -x -a '");
        put_choices(out, QUOTING_FISH, o->choices);
        buf_append_byte(out, '\'');
    } else if (options_takes_value(o)) {
        static const char *const ways[] = {
            [COMPLETES_NOTHING] = " -x",
            [COMPLETES_FILE] = " -r -F",
            [COMPLETES_DIRECTORY] = " -x -a '(__fish_complete_directories)'",
        };
        buf_append_text(out, ways[o->completes]);
    }
    append_fish_quoted(out, "-d", o->help);
    buf_append_byte(out, '\n');
}

static void append_fish_operands(const struct command *command, struct buf *out)
{
    if (!command->operand_choices) {
        start_fish_condition(out, "__nacre_command", command->name);
        buf_append_text(out, "' -F\n");
        return;
    }
    start_fish_condition(out, "__nacre_first_operand", command->name);
    const struct option *o = NULL;
    while ((o = options_next(command, o))) {
        if (!options_takes_value(o))
            continue;
        buf_append_text(out, " --");
        put_text(out, QUOTING_FISH, "", o->name);
        if (o->letter)
            buf_append_format(out, " -%c", o->letter);
    }
    buf_append_text(out, "' -a '");
    put_choices(out, QUOTING_FISH, command->operand_choices);
    buf_append_text(out, "'\n");
}

int options_complete_fish(const struct command *const *commands, struct buf *out)
{
    buf_append_text(out, fish_helpers);
    for (; *commands; commands++) {
        const struct command *command = *commands;
        buf_append_text(out, "\ncomplete -c nacre -n __nacre_no_command -a '");
        put_text(out, QUOTING_FISH, " \\'\"$*?~#(){}[]<>^&|;%", command->name);
        buf_append_byte(out, '\'');
        append_fish_quoted(out, "-d", command->summary);
        buf_append_byte(out, '\n');
        const struct option *o = NULL;
        while ((o = options_next(command, o)))
            append_fish_option(command, o, out);
        append_fish_operands(command, out);
    }
    return out->failed;
}
