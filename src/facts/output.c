/*
 * What a command prints, where that is certain: echo and printf of known words, cat of what flows
 * in. Otherwise where it comes from: text that was decoded or downloaded stays that, whoever
 * passes it on.
 */
#include "base/path.h"
#include "facts/internal.h"

#include <stdio.h>
#include <stdlib.h>

static struct stream from(enum word_source source)
{
    return (struct stream){.source = (uint8_t)source, .text = ""};
}

static struct stream known(const struct walk *w, struct buf *text)
{
    const char *copy = text->failed ? NULL : arena_copy(w->arena, text->data, text->len);
    struct stream out =
        copy ? (struct stream){.state = WORD_KNOWN, .text = copy, .len = (uint32_t)text->len}
             : from(SOURCE_OUTPUT);
    buf_release(text);
    return out;
}

static int digit(char c, unsigned base)
{
    int d = c >= '0' && c <= '9'                 ? c - '0'
            : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                 : 99;
    return d < (int)base ? d : -1;
}

/* One escape at text[i] == '\\'; how many letters it takes. `\c` and what is not known: 0. */
static size_t unescape(const char *text, size_t len, bool zero_octal, struct buf *out)
{
    static const char plain[][2] = {{'a', 7},  {'b', 8},     {'e', 27},  {'E', 27},
                                    {'f', 12}, {'n', 10},    {'r', 13},  {'t', 9},
                                    {'v', 11}, {'\\', '\\'}, {'"', '"'}, {'\'', '\''}};
    if (len < 2)
        return 0;
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        if (zero_octal && (text[1] == '"' || text[1] == '\''))
            return 0; /* printf's format alone knows these */
        if (text[1] == plain[i][0]) {
            buf_append_byte(out, plain[i][1]);
            return 2;
        }
    }
    unsigned base = text[1] == 'x' ? 16 : 8;
    size_t i = base == 16 ? 2 : 1, most = 4;
    if (base == 8 && zero_octal) {
        if (text[1] != '0')
            return 0;
        most = 5;
    }
    unsigned value = 0;
    size_t start = i;
    for (; i < len && i < most && digit(text[i], base) >= 0; i++)
        value = value * base + (unsigned)digit(text[i], base);
    if (i == start || (value & 0xff) == 0)
        return 0;
    buf_append_byte(out, (char)value);
    return i;
}

static bool append_unescaped(const char *text, size_t len, bool zero_octal, struct buf *out)
{
    for (size_t i = 0; i < len;) {
        if (text[i] != '\\') {
            buf_append_byte(out, text[i++]);
            continue;
        }
        size_t taken = unescape(text + i, len - i, zero_octal, out);
        if (taken == 0)
            return false;
        i += taken;
    }
    return true;
}

enum { PRINTED_MAX = 1 << 16 };

static struct stream echo_output(const struct walk *w, const struct act *act)
{
    bool newline = true, escapes = false;
    size_t i = 1;
    for (; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN || word->len < 2 || word->text[0] != '-' ||
            strspn(word->text + 1, "neE") != word->len - 1)
            break;
        for (size_t k = 1; k < word->len; k++) {
            newline &= word->text[k] != 'n';
            escapes = word->text[k] == 'n' ? escapes : word->text[k] == 'e';
        }
    }
    struct buf text;
    buf_init(&text, &allocator_libc, PRINTED_MAX);
    for (size_t first = i; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN || word->many ||
            (w->plain_shell && memchr(word->text, '\\', word->len))) {
            uint8_t source = word->source > SOURCE_OUTPUT ? word->source : SOURCE_OUTPUT;
            if (act->word_count == 2 && word->source == SOURCE_NUMBER)
                source = SOURCE_NUMBER;
            buf_release(&text);
            return from(source);
        }
        if (i > first)
            buf_append_byte(&text, ' ');
        if (!escapes) {
            buf_append(&text, word->text, word->len);
        } else if (!append_unescaped(word->text, word->len, true, &text)) {
            buf_release(&text);
            return from(SOURCE_DECODED);
        }
    }
    if (newline)
        buf_append_byte(&text, '\n');
    return known(w, &text);
}

/* One round of the format; false: something that is not done here. */
static bool print_round(const struct fact_word *format, const struct fact_word *args, size_t count,
                        size_t *used, struct buf *out)
{
    for (size_t i = 0; i < format->len;) {
        char c = format->text[i];
        if (c == '\\') {
            size_t taken = unescape(format->text + i, format->len - i, false, out);
            if (taken == 0)
                return false;
            i += taken;
            continue;
        }
        if (c != '%') {
            buf_append_byte(out, c);
            i++;
            continue;
        }
        if (i + 1 >= format->len)
            return false;
        char kind = format->text[i + 1];
        i += 2;
        if (kind == '%') {
            buf_append_byte(out, '%');
            continue;
        }
        struct fact_word none = {.text = "", .state = WORD_KNOWN};
        const struct fact_word *arg = *used < count ? &args[*used] : &none;
        *used += *used < count;
        if (kind == 'b') {
            if (!append_unescaped(arg->text, arg->len, true, out))
                return false;
        } else if (kind == 's' || kind == 'c') {
            buf_append(out, arg->text, kind == 's' || !arg->len ? arg->len : 1);
        } else if (kind == 'd' && is_number(arg->text, arg->len) && arg->len < 10 &&
                   arg->text[0] != '0' && arg->text[0] != '+') {
            buf_append(out, arg->text, arg->len);
        } else {
            return false;
        }
    }
    return true;
}

static struct stream printf_output(const struct walk *w, const struct act *act)
{
    size_t i = 1;
    if (i < act->word_count && word_is(&act->words[i], "--"))
        i++;
    if (i >= act->word_count)
        return from(SOURCE_OUTPUT);
    if (word_is(&act->words[i], "-v"))
        return (struct stream){.state = WORD_KNOWN, .text = ""};
    uint8_t worst = SOURCE_NONE;
    for (size_t k = i; k < act->word_count; k++) {
        const struct fact_word *word = &act->words[k];
        if (word->state != WORD_KNOWN || word->many)
            worst = word->source > worst ? word->source : worst;
    }
    if (worst)
        return from(worst > SOURCE_OUTPUT ? worst : SOURCE_OUTPUT);
    const struct fact_word *format = &act->words[i], *args = format + 1;
    size_t count = act->word_count - i - 1, used = 0;
    struct buf text;
    buf_init(&text, &allocator_libc, PRINTED_MAX);
    do {
        size_t before = used;
        if (!print_round(format, args, count, &used, &text) || text.failed) {
            buf_release(&text);
            return from(SOURCE_DECODED);
        }
        if (used == before)
            break;
    } while (used < count);
    return known(w, &text);
}

static bool has_operands(const struct act *act)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (act->words[i].state != WORD_KNOWN || act->words[i].many ||
            act->words[i].text[0] != '-' || act->words[i].len == 1)
            return true;
    }
    return false;
}

/* cat of what flows in, as it is. */
static bool only_passes(const struct act *act)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (!word_is(&act->words[i], "-") && !word_is(&act->words[i], "-u"))
            return false;
    }
    return act->word_count <= 2;
}

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (name_is(name, list[i]))
            return true;
    }
    return false;
}

static bool has_word(const struct act *act, const char *text)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (word_is(&act->words[i], text))
            return true;
    }
    return false;
}

static bool all_known(const struct act *act)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (act->words[i].state != WORD_KNOWN || act->words[i].many)
            return false;
    }
    return true;
}

/* date +%Y-%m-%d: digits and what stands between them. */
static bool is_date_format(const struct fact_word *word)
{
    if (word->len < 3 || word->text[0] != '+' || word->text[1] != '%')
        return false;
    for (size_t i = 1; i < word->len; i++) {
        if (word->text[i] == '%' && i + 1 < word->len && strchr("YmdHMSsNF", word->text[i + 1]))
            i++;
        else if (word->text[i] != '-')
            return false;
    }
    return word->text[word->len - 1] != '-';
}

/* Only these letters, in one word: -c, -ci */
static bool is_letters(const struct fact_word *word, const char *needed, const char *others)
{
    if (word->len < 2 || word->text[0] != '-' || !strpbrk(word->text, needed))
        return false;
    for (size_t i = 1; i < word->len; i++) {
        if (!strchr(needed, word->text[i]) && !strchr(others, word->text[i]))
            return false;
    }
    return true;
}

static bool is_operand(const struct act *act, size_t i)
{
    return i < act->word_count && act->words[i].len && act->words[i].text[0] != '-';
}

/*
 * Whole command lines that print nothing but a number, some only when numbers flow in, or lines
 * that start with one. `?` is a word that is no option, or none.
 */
static const struct {
    const char *name;
    const char *words[3];
    bool given_numbers, given_counts;
} number_calls[] = {
    {"wc", {"-l"}, false, false},
    {"wc", {"-c"}, false, false},
    {"wc", {"-w"}, false, false},
    {"wc", {"-m"}, false, false},
    {"stat", {"-c", "%s", "?"}, false, false},
    {"stat", {"-c", "%Y", "?"}, false, false},
    {"stat", {"-c%s", "?"}, false, false},
    {"jq", {"length", "?"}, false, false},
    {"sed", {"-n", "$=", "?"}, false, false},
    {"awk", {"END{print NR}", "?"}, false, false},
    {"awk", {"END {print NR}", "?"}, false, false},
    {"awk", {"END { print NR }", "?"}, false, false},
    {"awk", {"{print $1}"}, true, true},
    {"awk", {"{ print $1 }"}, true, true},
    {"cut", {"-d ", "-f1"}, true, true},
    {"cut", {"-d:", "-f1"}, true, true},
    {"cut", {"-f1"}, true, true},
    {"tr", {"-d", " "}, true, false},
    {"tr", {"-d", "\n"}, true, false},
    {"head", {"-1"}, true, false},
    {"head", {"-n1"}, true, false},
    {"head", {"-n", "1"}, true, false},
    {"tail", {"-1"}, true, false},
    {"tail", {"-n1"}, true, false},
    {"tail", {"-n", "1"}, true, false},
    {"sort", {"-n"}, true, false},
    {"sort", {"-rn"}, true, false},
    {"sort", {"-nr"}, true, false},
};

static bool matches_call(const struct act *act, const char *const words[3])
{
    size_t i = 0;
    for (; i < 3 && words[i]; i++) {
        if (name_is(words[i], "?")) {
            if (i + 1 < act->word_count && !is_operand(act, i + 1))
                return false;
        } else if (i + 1 >= act->word_count || !word_is(&act->words[i + 1], words[i])) {
            return false;
        }
    }
    return act->word_count <= i + 1;
}

static bool all_numbers(const struct act *act, const char *operators)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (!is_number(act->words[i].text, act->words[i].len) &&
            !(act->words[i].len == 1 && strchr(operators, act->words[i].text[0])))
            return false;
    }
    return act->word_count > 1;
}

static bool prints_number(const struct act *act, const struct stream *in)
{
    if (act->known && (act->known->flags & KNOWN_NUMBER) && act->word_count == 1)
        return true;
    if (!all_known(act))
        return false;
    bool numbers = in->state != WORD_KNOWN && in->source == SOURCE_NUMBER && !in->none;
    for (size_t i = 0; i < sizeof(number_calls) / sizeof(*number_calls); i++) {
        bool given = !number_calls[i].given_numbers || numbers ||
                     (number_calls[i].given_counts && in->counts);
        if (given && name_is(act->name, number_calls[i].name) &&
            matches_call(act, number_calls[i].words))
            return true;
    }
    if (name_is(act->name, "date"))
        return act->word_count == 2 && is_date_format(&act->words[1]);
    if (name_is(act->name, "seq"))
        return all_numbers(act, "");
    if (name_is(act->name, "expr"))
        return all_numbers(act, "+-*/%");
    if (name_is(act->name, "grep")) /* one file, or what flows in */
        return act->word_count >= 3 && act->word_count <= 4 &&
               is_letters(&act->words[1], "c", "ivwxEFs") && is_operand(act, 2) &&
               (act->word_count == 3 || is_operand(act, 3));
    if (name_is(act->name, "git"))
        return act->word_count == 4 && word_is(&act->words[1], "rev-list") &&
               word_is(&act->words[2], "--count") && is_operand(act, 3);
    return false;
}

/* Lines that start with a number: wc FILE, du FILE, grep -n WHAT FILE. */
static bool prints_counts(const struct act *act)
{
    if (!all_known(act) || act->word_count < 2)
        return false;
    if (name_is(act->name, "wc"))
        return is_letters(&act->words[1], "lcwm", "") && act->word_count <= 3;
    if (name_is(act->name, "du"))
        return is_letters(&act->words[1], "s", "kmb") && act->word_count <= 3;
    return name_is(act->name, "grep") && act->word_count == 4 &&
           is_letters(&act->words[1], "n", "ivwxEFs") && is_operand(act, 2) && is_operand(act, 3);
}

/* Words with which a listing command prints what the text says. */
static bool chooses_output(const struct act *act)
{
    static const char *const words[] = {"-exec",  "-ok",     "-printf", "-fprint",  "-fls",   "-ls",
                                        "--form", "--pret",  "--label", "--output", "--exec", "-x",
                                        "-X",     "--parse", "--sq",    "--prefix", "--dump"};
    for (size_t i = 1; i < act->word_count; i++) {
        for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
            if (strncmp(act->words[i].text, words[k], strlen(words[k])) == 0)
                return true;
        }
    }
    return false;
}

/* Names of files, of commits and branches, as they are: never options. */
static bool prints_names(const struct act *act)
{
    static const char *const listers[] = {"find", "ls", "fd", "fdfind", "realpath", "pwd", "which"};
    static const char *const revisions[] = {
        "HEAD", "--short", "--abbrev-ref", "--show-toplevel", "--git-dir", "--show-prefix", "@"};
    if (chooses_output(act))
        return false;
    if (is_one_of(act->name, listers, sizeof(listers) / sizeof(*listers)))
        return true;
    if (name_is(act->name, "rg") || name_is(act->name, "grep"))
        return act->word_count > 2 && all_known(act) &&
               (word_is(&act->words[1], "--files") || is_letters(&act->words[1], "l", "riEFwv"));
    if (!name_is(act->name, "git") || act->word_count < 2 || !all_known(act))
        return false;
    const struct fact_word *sub = &act->words[1];
    if (word_is(sub, "rev-parse")) {
        for (size_t i = 2; i < act->word_count; i++) {
            if (!is_one_of(act->words[i].text, revisions, sizeof(revisions) / sizeof(*revisions)))
                return false;
        }
        return true;
    }
    if (word_is(sub, "merge-base"))
        return act->word_count == 4 && is_operand(act, 2) && is_operand(act, 3);
    return word_is(sub, "ls-files") || word_is(sub, "rev-list") ||
           (word_is(sub, "diff") && act->word_count > 2 &&
            word_is(&act->words[2], "--name-only")) ||
           (word_is(sub, "branch") && act->word_count == 3 &&
            word_is(&act->words[2], "--show-current"));
}

/* The top of the repository, where that is the workspace. */
static bool is_toplevel(struct walk *w, const struct act *act)
{
    char *marker = arena_format(w->arena, "%s/.git", w->host->workspace);
    return w->cwd && !w->cwd->next && path_is_below(w->cwd->path, w->host->workspace) &&
           act->word_count == 3 && name_is(act->name, "git") && has_word(act, "rev-parse") &&
           has_word(act, "--show-toplevel") && marker && w->host->exists &&
           w->host->exists(w->host->user, marker);
}

/* mktemp: below the directory for temporary files, which is the box's own. */
static struct stream below_tmp(struct walk *w, const struct act *act)
{
    const struct variable *v = state_variable(w, "TMPDIR", 6);
    bool plain = v && v->class == CLASS_NONE && !w->blind && all_known(act);
    for (size_t i = 1; i < act->word_count; i++)
        plain &= word_is(&act->words[i], "-d") || word_is(&act->words[i], "-u") ||
                 word_is(&act->words[i], "-q");
    return (struct stream){
        .source = SOURCE_FILES, .text = plain ? "/tmp/" : "", .len = plain ? 5 : 0};
}

/* dirname and basename of a known path. */
static struct stream part_of_path(struct walk *w, const struct fact_word *word, bool directory)
{
    size_t len = word->len;
    while (len > 1 && word->text[len - 1] == '/')
        len--;
    const char *slash = memrchr(word->text, '/', len);
    size_t at = slash ? (size_t)(slash - word->text) : 0;
    const char *text = directory ? slash ? word->text : "." : slash ? slash + 1 : word->text;
    size_t size = directory ? slash ? (at ? at : 1) : 1 : slash ? len - at - 1 : len;
    while (directory && size > 1 && text[size - 1] == '/')
        size--;
    const char *copy = len > 1 ? arena_copy(w->arena, text, size) : NULL;
    return copy ? (struct stream){.state = WORD_KNOWN, .text = copy, .len = (uint32_t)size}
                : from(SOURCE_OUTPUT);
}

struct stream output_of(struct walk *w, const struct act *act, struct stream in)
{
    static const char *const passing[] = {"cat", "tee", "head", "tail", "sponge", "pv", "buffer"};
    uint8_t source = SOURCE_OUTPUT;
    if (in.state != WORD_KNOWN && !in.none && in.source > source)
        source = in.source;
    if (name_is(act->name, "echo"))
        return echo_output(w, act);
    if (name_is(act->name, "printf"))
        return printf_output(w, act);
    if (name_is(act->name, "pwd") && w->cwd && !w->cwd->next && act->word_count == 1)
        return (struct stream){
            .state = WORD_KNOWN, .text = w->cwd->path, .len = (uint32_t)strlen(w->cwd->path)};
    if (name_is(act->name, "cat") && !in.none && only_passes(act))
        return in;
    if (prints_number(act, &in))
        return from(SOURCE_NUMBER);
    if ((name_is(act->name, "dirname") || name_is(act->name, "basename")) && act->word_count == 2 &&
        all_known(act) && act->words[1].text[0] != '-')
        return part_of_path(w, &act->words[1], act->name[0] == 'd');
    if (is_toplevel(w, act))
        return (struct stream){.state = WORD_KNOWN,
                               .text = w->host->workspace,
                               .len = (uint32_t)strlen(w->host->workspace)};
    if (name_is(act->name, "mktemp"))
        return below_tmp(w, act);
    if (prints_names(act) && source <= SOURCE_OUTPUT)
        return from(SOURCE_FILES);
    static const char *const keeping[] = {"head", "tail", "sort", "uniq", "grep", "tac", "shuf"};
    if (is_one_of(act->name, keeping, sizeof(keeping) / sizeof(*keeping)) && !chooses_output(act) &&
        all_known(act) && !in.none && in.state != WORD_KNOWN && in.source == SOURCE_FILES)
        return from(SOURCE_FILES);
    bool keeps_counts = in.counts && all_known(act) && !has_operands(act) &&
                        (name_is(act->name, "head") || name_is(act->name, "tail"));
    if ((prints_counts(act) || keeps_counts) && source <= SOURCE_OUTPUT)
        return (struct stream){.source = SOURCE_OUTPUT, .text = "", .counts = true};
    enum knowledge_kind kind = act->known ? act->known->kind : KIND_PLAIN;
    if (kind == KIND_NETWORK || (act->effects & EFFECT_NETWORK))
        return from(SOURCE_DOWNLOADED);
    if (kind == KIND_DECODER)
        return from(source > SOURCE_DECODED ? source : SOURCE_DECODED);
    /* Text of the command line that a program makes something else of. */
    if (in.state == WORD_KNOWN && in.len && !in.none &&
        !is_one_of(act->name, passing, sizeof(passing) / sizeof(*passing)))
        return from(SOURCE_DECODED);
    for (size_t i = 1; i < act->word_count; i++) {
        if (act->words[i].state != WORD_KNOWN && act->words[i].source >= SOURCE_DECODED &&
            act->words[i].source > source)
            source = act->words[i].source;
    }
    return from(source);
}
