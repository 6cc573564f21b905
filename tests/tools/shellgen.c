/*
 * Makes bash programs at random, for comparing nacre's bash parser with bash's own.
 *
 *     shellgen grammar SEED COUNT [--safe]    programs from bash's grammar
 *     shellgen mutate SEED COUNT              mutants of the programs on standard input
 *
 * Programs are framed, on input and output: the number of bytes in decimal, a newline, the bytes.
 * The same SEED gives the same bytes on every machine. One program in ten breaks a rule on purpose,
 * so that refusals are compared, too. With --safe none does, and each may be run: it ends by
 * itself, writes only out1..out4 in the current directory and says the same each time.
 *
 * The grammar is a table, see rows[] below; what it cannot say (here-documents, whose bodies stand
 * elsewhere than their operators; backquotes, whose contents are escaped) is code.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Can be set to 0 when compiling, to see how many programs bash takes that break no rule. */
#ifndef BREAK_PERCENT
#define BREAK_PERCENT 10
#endif

enum {
    RULES_MAX = 256,
    ALTS_MAX = 2048,
    ITEMS_MAX = 8192,
    PENDING_MAX = 64,
    MUTANT_MAX = 4096,
    SEED_MAX = 16 << 20,
};

/* An ODD alternative is never taken just because it is short: deep texts would be full of them. */
enum mode { WILD = 1, SAFE = 2, BOTH = WILD | SAFE, ODD = 4 };
enum { ODD_HEIGHT = 9 };

struct text {
    char *bytes;
    size_t len, cap;
};

static void die(const char *what, const char *which)
{
    fprintf(stderr, "shellgen: %s%s\n", what, which);
    exit(2);
}

static void put(struct text *t, const char *bytes, size_t len)
{
    if (t->len + len >= t->cap) { /* even for nothing: no text is a null pointer then */
        t->cap = (t->len + len) * 2 + 64;
        t->bytes = realloc(t->bytes, t->cap);
        if (t->bytes == NULL)
            die("out of memory", "");
    }
    if (len > 0)
        memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void write_frame(const struct text *t)
{
    printf("%zu\n", t->len);
    if (t->len > 0)
        fwrite(t->bytes, 1, t->len, stdout);
}

/* splitmix64: small, and the same everywhere, which rand() is not. */
static uint64_t random_state;

static uint64_t random_next(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n == 0 ? 0 : (size_t)(random_next() % n);
}

static bool percent(unsigned chance)
{
    return below(100) < chance;
}

/* Every text has its own sequence: the one after it stays the same when the grammar changes. */
static void random_begin(uint64_t seed, uint64_t index)
{
    random_state = seed;
    random_state = random_next() + index;
    random_next();
}

#include "shellgen_grammar.h"

/* The table in a form that is quick to go through: alternatives are chained, items are in order. */
struct item {
    const char *text; /* NULL: made by .rule */
    size_t len;
    int rule;
    char repeat; /* one of "?*+", or 0 */
};

struct alt {
    int first, count, weight, next, height;
    bool odd;
};

struct rule {
    const char *name;
    size_t len;
    int alts, height, action; /* .action is -1 where the table has the rule */
    bool raw, scope, backquoted;
};

static struct item items[ITEMS_MAX];
static struct alt alts[ALTS_MAX];
static struct rule rules[RULES_MAX];
static int item_count, alt_count, rule_count;

static const char open_mark[] = "«", close_mark[] = "»", or_mark[] = "¦";
enum { MARK = sizeof(open_mark) - 1, UNREACHED = 1000 };

struct pending {
    const char *delimiter;
    char suffix;
    bool quoted, strip;
    int depth;
};

struct generator {
    struct text out;
    size_t size_limit, emitted;
    int depth_limit, raw, in_body;
    unsigned continuation; /* per mille: chance of a backslash-newline before a character */
    int break_after;       /* items until a rule gets broken; below 0: none */
    struct pending pending[PENDING_MAX];
    int pending_first, pending_count;
};

static void expand(struct generator *g, int rule, int depth);

static void emit(struct generator *g, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool escaped = g->out.len > 0 && g->out.bytes[g->out.len - 1] == '\\';
        bool inside_char = ((unsigned char)bytes[i] & 0xc0) == 0x80;
        if (g->continuation > 0 && g->raw == 0 && !escaped && !inside_char &&
            below(1000) < g->continuation)
            put(&g->out, "\\\n", 2);
        put(&g->out, bytes + i, 1);
    }
    g->emitted += len;
}

static void emit_raw(struct generator *g, const char *s)
{
    g->raw++;
    emit(g, s, strlen(s));
    g->raw--;
}

/* NUL stands for nothing. */
static void emit_byte(struct generator *g, char byte)
{
    g->raw++;
    emit(g, &byte, byte != '\0');
    g->raw--;
}

static int find_rule(const char *name, size_t len)
{
    for (int i = 0; i < rule_count; i++) {
        if (rules[i].len == len && memcmp(rules[i].name, name, len) == 0)
            return i;
    }
    return -1;
}

static void emit_body(struct generator *g, struct pending p)
{
    int line = find_rule(p.quoted ? "raw-hline" : "hline", p.quoted ? 9 : 5);
    g->in_body++;
    for (size_t n = below(4); n > 0; n--) {
        if (p.strip && percent(60))
            emit_raw(g, percent(50) ? "\t" : "\t\t");
        expand(g, line, p.depth + 1);
        emit_raw(g, "\n");
    }
    g->in_body--;
    if (p.strip && percent(50))
        emit_raw(g, "\t");
    emit_raw(g, p.delimiter);
    emit_byte(g, p.suffix);
    emit_raw(g, "\n");
}

/* A newline, and behind it what the line's here-document operators have promised. */
static void emit_newline(struct generator *g, int depth)
{
    (void)depth;
    emit_raw(g, "\n");
    int first = g->pending_first, end = g->pending_count;
    g->pending_first = end;
    for (int i = first; i < end; i++)
        emit_body(g, g->pending[i]);
    g->pending_first = g->pending_count = first;
}

/* "%" is the suffix that tells a document within a document's body from the one around it. */
static const struct {
    const char *spelling, *plain;
} delimiters[] = {
    {"E%", "E"},     {"E%", "E"},         {"EOF%", "EOF"},     {"'E%'", "E"}, {"\"EOF%\"", "EOF"},
    {"\\E%", "E"},   {"E\"O\"%", "EO"},   {"'A B%'", "A B"},   {"$x%", "$x"}, {"E'F%'", "EF"},
    {"\"\"E%", "E"}, {"{a,b}%", "{a,b}"}, {"é%", "é"},         {"\\$%", "$"}, {"'\\'E%", "\\E"},
    {"!%", "!"},     {"E\\ F%", "E F"},   {"'a\"b'%", "a\"b"}, {"a=%", "a="},
};

static void emit_heredoc(struct generator *g, int depth)
{
    if (g->pending_count == PENDING_MAX) {
        emit_raw(g, "<<<x");
        return;
    }
    size_t pick = below(sizeof(delimiters) / sizeof(delimiters[0]));
    const char *spelling = delimiters[pick].spelling;
    struct pending p = {.delimiter = delimiters[pick].plain,
                        .suffix = (char)(g->in_body > 0 ? '0' + g->in_body % 10 : '\0'),
                        .quoted = strpbrk(spelling, "'\"\\") != NULL,
                        .strip = percent(30),
                        .depth = depth};
    const char *operator= p.strip ? "<<-" : "<<";
    emit(g, operator, strlen(operator));
    emit_raw(g, percent(20) ? " " : "");
    for (const char *s = spelling; *s != '\0'; s++)
        if (*s == '%')
            emit_byte(g, p.suffix);
        else
            emit_byte(g, *s);
    g->pending[g->pending_count++] = p;
}

/* Names made from the depth differ from those in use around them: no loop touches another's. */
static void emit_depth(struct generator *g, int depth)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%d", depth);
    emit_raw(g, digits);
}

static const struct {
    const char *name;
    void (*emit)(struct generator *g, int depth);
} actions[] = {
    {"eol", emit_newline},
    {"heredoc", emit_heredoc},
    {"n", emit_depth},
};

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static int intern_rule(const char *name, size_t len)
{
    int found = find_rule(name, len);
    if (found >= 0)
        return found;
    if (rule_count == RULES_MAX)
        die("too many rules", "");
    struct rule *r = &rules[rule_count];
    *r = (struct rule){.name = name, .len = len, .alts = -1, .height = UNREACHED, .action = -1};
    r->raw = begins(name, "raw-");
    r->backquoted = begins(name, "bt-");
    r->scope = r->backquoted || begins(name, "sub-");
    return rule_count++;
}

static void add_item(struct item item)
{
    if (item_count == ITEMS_MAX)
        die("too many items", "");
    items[item_count++] = item;
}

static void add_reference(const char *name, size_t len)
{
    char last = name[len - 1];
    bool repeated = len > 1 && strchr("?*+", last) != NULL;
    struct item item = {.rule = intern_rule(name, len - repeated)};
    if (repeated)
        item.repeat = last;
    add_item(item);
}

static void add_items(const char *text, const char *end)
{
    while (text < end) {
        const char *open = memmem(text, (size_t)(end - text), open_mark, MARK);
        const char *literal_end = open == NULL ? end : open;
        if (literal_end > text)
            add_item((struct item){.text = text, .len = (size_t)(literal_end - text)});
        if (open == NULL)
            return;
        const char *name = open + MARK;
        const char *close = memmem(name, (size_t)(end - name), close_mark, MARK);
        if (close == NULL || close == name)
            die("bad reference: ", open);
        add_reference(name, (size_t)(close - name));
        text = close + MARK;
    }
}

static void add_row(const struct row *row)
{
    int rule = intern_rule(row->rule, strlen(row->rule));
    const char *text = row->alternatives, *end;
    do {
        end = strstr(text, or_mark);
        if (alt_count == ALTS_MAX)
            die("too many alternatives", "");
        int first = item_count;
        add_items(text, end == NULL ? text + strlen(text) : end);
        struct alt *a = &alts[alt_count];
        *a = (struct alt){.first = first, .count = item_count - first, .weight = row->weight};
        a->next = rules[rule].alts;
        a->odd = row->mode & ODD;
        rules[rule].alts = alt_count++;
        text = end == NULL ? NULL : end + MARK;
    } while (text != NULL);
}

static int alt_height(const struct alt *a)
{
    int height = a->odd ? ODD_HEIGHT : 0;
    for (int i = a->first; i < a->first + a->count; i++) {
        const struct item *item = &items[i];
        bool must = item->text == NULL && (item->repeat == 0 || item->repeat == '+');
        if (must && rules[item->rule].height > height)
            height = rules[item->rule].height;
    }
    return height;
}

/* How deep each rule goes at least: what tells the ways out when a text has got deep enough. */
static void find_heights(void)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int r = 0; r < rule_count; r++) {
            for (int a = rules[r].alts; a >= 0; a = alts[a].next) {
                alts[a].height = alt_height(&alts[a]);
                if (alts[a].height + 1 < rules[r].height) {
                    rules[r].height = alts[a].height + 1;
                    changed = true;
                }
            }
        }
    }
    for (int r = 0; r < rule_count; r++) {
        if (rules[r].height >= UNREACHED)
            die("rule without an end: ", rules[r].name);
    }
}

static void compile_grammar(enum mode mode)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        int rule = intern_rule(actions[i].name, strlen(actions[i].name));
        rules[rule].action = (int)i;
        rules[rule].height = 1;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].mode & mode)
            add_row(&rows[i]);
    }
    find_heights();
}

static int room(const struct generator *g, int depth)
{
    return g->emitted > g->size_limit ? 0 : g->depth_limit - depth;
}

static const struct alt *choose(const struct generator *g, const struct rule *r, int depth)
{
    int most = room(g, depth), total = 0;
    if (most < r->height - 1)
        most = r->height - 1;
    for (int a = r->alts; a >= 0; a = alts[a].next)
        total += alts[a].height <= most ? alts[a].weight : 0;
    int pick = (int)below((size_t)total);
    for (int a = r->alts; a >= 0; a = alts[a].next) {
        if (alts[a].height <= most && (pick -= alts[a].weight) < 0)
            return &alts[a];
    }
    return &alts[r->alts];
}

static int repetitions(const struct generator *g, const struct item *item, int depth)
{
    if (item->repeat == 0)
        return 1;
    int least = item->repeat == '+';
    if (room(g, depth) < rules[item->rule].height)
        return least;
    if (item->repeat == '?')
        return percent(35);
    int n = least;
    while (n < 5 && percent(45))
        n++;
    return n;
}

static void expand_item(struct generator *g, const struct item *item, int depth)
{
    if (item->text != NULL)
        emit(g, item->text, item->len);
    else if (rules[item->rule].action >= 0)
        actions[rules[item->rule].action].emit(g, depth);
    else
        expand(g, item->rule, depth + 1);
}

static void expand_items(struct generator *g, const struct alt *a, int depth)
{
    for (int i = a->first; i < a->first + a->count; i++) {
        int n = repetitions(g, &items[i], depth);
        /* Only operators and reserved words count: another word less or more breaks no rule. */
        bool counts = items[i].text != NULL && g->raw == 0 && items[i].text[0] != ' ';
        if (g->break_after >= 0 && counts && g->break_after-- == 0)
            n += percent(60) ? -1 : 1;
        while (n-- > 0)
            expand_item(g, &items[i], depth);
    }
}

/* Here-documents that begin in a substitution have their bodies in it. */
static void expand_scope(struct generator *g, const struct alt *a, int depth)
{
    int first = g->pending_first;
    g->pending_first = g->pending_count;
    expand_items(g, a, depth);
    if (g->pending_count > g->pending_first)
        emit_newline(g, depth);
    g->pending_first = first;
}

static void expand_backquoted(struct generator *g, const struct alt *a, int depth)
{
    struct text outer = g->out;
    g->out = (struct text){0};
    expand_scope(g, a, depth);
    struct text inner = g->out;
    g->out = outer;
    for (size_t i = 0; i < inner.len; i++) {
        if (strchr("\\`", inner.bytes[i]) != NULL)
            put(&g->out, "\\", 1);
        put(&g->out, inner.bytes + i, 1);
    }
    free(inner.bytes);
}

static void expand(struct generator *g, int rule, int depth)
{
    const struct rule *r = &rules[rule];
    const struct alt *a = choose(g, r, depth);
    g->raw += r->raw;
    if (r->backquoted)
        expand_backquoted(g, a, depth);
    else if (r->scope)
        expand_scope(g, a, depth);
    else
        expand_items(g, a, depth);
    g->raw -= r->raw;
}

static const struct {
    unsigned chance;
    int depth;
    size_t size;
} sizes[] = {{45, 20, 120}, {35, 28, 300}, {15, 40, 600}, {5, 66, 1500}};

static void set_limits(struct generator *g, enum mode mode)
{
    size_t pick = below(100), i = 0;
    while (pick >= sizes[i].chance)
        pick -= sizes[i++].chance;
    g->depth_limit = sizes[i].depth;
    g->size_limit = sizes[i].size;
    if (mode == SAFE) { /* more to show for it, but loops in loops in loops take too long */
        g->size_limit *= 2;
        g->depth_limit = g->depth_limit < 42 ? g->depth_limit : 42;
    }
    g->continuation = percent(8) ? 60 : 0;
    g->break_after = mode == WILD && percent(BREAK_PERCENT) ? (int)below(12) : -1;
}

static void generate(uint64_t seed, uint64_t count, enum mode mode)
{
    compile_grammar(mode);
    int program = find_rule("program", strlen("program"));
    for (uint64_t i = 0; i < count; i++) {
        struct generator g = {0};
        random_begin(seed, i);
        set_limits(&g, mode);
        expand(&g, program, 0);
        if (g.pending_count > 0)
            emit_newline(&g, 0);
        write_frame(&g.out);
        free(g.out.bytes);
    }
}

/* Mutants. */
static const char *const pieces[] = {
    "$(",    ")",    "`",       "'",   "\"",   "\\",    "\\\n", "<<E",    "\nE\n",  "<<-'E'",
    ";;",    "&",    "|",       "((",  "))",   "[[",    "]]",   "{",      "}",      "${",
    "#",     "if ",  "then",    "fi",  " do ", "done",  "case", "esac",   " in ",   "\n",
    "time ", "! ",   "coproc ", "=(",  "\t",   "<(",    ">(",   "$'",     "$\"",    "~",
    "@(",    "$((",  "$[",      "]",   "(",    "for ",  "&&",   "||",     ";",      "function ",
    ";&",    ";;&",  "|&",      "<<<", ">&",   "&>",    "<>",   ">|",     "2>",     "{fd}>",
    "$",     "a[",   "a=",      "+=",  "() ",  "else ", "elif", "until ", "while ", "select ",
    " =~ ",  " == ", "!(",      "$@",  "${#",  "${!",   ":-",   "%%",     "//",     "*",
    "?",     "\r",   "\xff",    "é",   " #",   "\n\n",  "-p ",  "<&-",
};

static struct {
    struct text *texts;
    size_t count;
} seeds;

static bool read_frame(struct text *t)
{
    unsigned long long len;
    int got = scanf("%llu", &len);
    if (got == EOF)
        return false;
    if (got != 1 || len > SEED_MAX || getchar() != '\n')
        die("standard input has a bad frame", "");
    *t = (struct text){.bytes = malloc(len + 1), .len = len, .cap = len + 1};
    if (t->bytes == NULL || fread(t->bytes, 1, len, stdin) != len)
        die("standard input ends within a frame", "");
    if (memchr(t->bytes, '\0', len) != NULL)
        die("standard input has a NUL byte", "");
    return true;
}

static void read_seeds(void)
{
    struct text t;
    while (read_frame(&t)) {
        seeds.texts = reallocarray(seeds.texts, seeds.count + 1, sizeof(*seeds.texts));
        if (seeds.texts == NULL)
            die("out of memory", "");
        seeds.texts[seeds.count++] = t;
    }
    if (seeds.count == 0)
        die("standard input has no texts", "");
}

static size_t line_start(const struct text *t, size_t at)
{
    while (at > 0 && t->bytes[at - 1] != '\n')
        at--;
    return at;
}

/* A copy of a seed, or of some whole lines of one too long to be mutated to any effect. */
static struct text take_window(const struct text *seed, size_t most)
{
    size_t from = 0, to = seed->len;
    if (seed->len > most) {
        from = line_start(seed, below(seed->len));
        size_t end = from + 1 + below(most);
        to = end >= seed->len ? seed->len : line_start(seed, end);
        if (to <= from) /* a line longer than the window */
            to = end < seed->len ? end : seed->len;
    }
    struct text t = {0};
    put(&t, seed->bytes + from, to - from);
    return t;
}

static void replace(struct text *t, size_t at, size_t len, const char *with, size_t with_len)
{
    struct text made = {0};
    put(&made, t->bytes, at);
    put(&made, with, with_len);
    put(&made, t->bytes + at + len, t->len - at - len);
    free(t->bytes);
    *t = made;
}

static int class_of(char c)
{
    if (strchr(" \t\n", c) != NULL)
        return 0;
    return strchr("|&;()<>{}[]$`'\"\\!=", c) != NULL ? 2 : 1;
}

/* A byte, or a run of bytes of one kind, which is a token often enough. */
static size_t pick_chunk(const struct text *t, size_t *len)
{
    size_t at = below(t->len), end = at + 1;
    if (t->len > 0 && percent(65)) {
        int class = class_of(t->bytes[at]);
        while (at > 0 && class_of(t->bytes[at - 1]) == class)
            at--;
        while (end < t->len && class_of(t->bytes[end]) == class)
            end++;
    }
    *len = t->len == 0 ? 0 : end - at;
    return at;
}

static void mutate_delete(struct text *t)
{
    size_t len, at = pick_chunk(t, &len);
    replace(t, at, len, "", 0);
}

static void mutate_duplicate(struct text *t)
{
    size_t len, at = pick_chunk(t, &len);
    struct text chunk = {0};
    put(&chunk, t->bytes + at, len);
    replace(t, percent(70) ? at : below(t->len), 0, chunk.bytes, chunk.len);
    free(chunk.bytes);
}

static void mutate_swap(struct text *t)
{
    size_t a_len, a = pick_chunk(t, &a_len), b_len, b = pick_chunk(t, &b_len);
    if (a + a_len > b)
        return;
    struct text made = {0};
    put(&made, t->bytes + b, b_len);
    put(&made, t->bytes + a + a_len, b - a - a_len);
    put(&made, t->bytes + a, a_len);
    replace(t, a, b + b_len - a, made.bytes, made.len);
    free(made.bytes);
}

static void mutate_insert(struct text *t)
{
    const char *piece = pieces[below(sizeof(pieces) / sizeof(pieces[0]))];
    size_t len, at = pick_chunk(t, &len);
    replace(t, at, percent(25) ? len : 0, piece, strlen(piece));
}

static void mutate_splice(struct text *t)
{
    struct text other = take_window(&seeds.texts[below(seeds.count)], MUTANT_MAX / 2);
    size_t at = below(t->len + 1), from = below(other.len + 1);
    size_t cut = percent(50) ? t->len - at : 0, len = other.len - from;
    replace(t, at, cut, other.bytes + from, cut > 0 ? len : below(len + 1));
    free(other.bytes);
}

static void mutate_truncate(struct text *t)
{
    size_t at = below(t->len + 1);
    bool head = percent(70);
    replace(t, head ? at : 0, head ? t->len - at : at, "", 0);
}

static const struct {
    unsigned chance;
    void (*apply)(struct text *t);
} mutations[] = {
    {22, mutate_delete}, {15, mutate_duplicate}, {13, mutate_swap},
    {35, mutate_insert}, {8, mutate_splice},     {7, mutate_truncate},
};

static void mutate_once(struct text *t)
{
    size_t pick = below(100), i = 0;
    while (pick >= mutations[i].chance)
        pick -= mutations[i++].chance;
    mutations[i].apply(t);
}

static void mutate(uint64_t seed, uint64_t count)
{
    read_seeds();
    for (uint64_t i = 0; i < count; i++) {
        random_begin(seed, i);
        struct text t = take_window(&seeds.texts[below(seeds.count)], MUTANT_MAX * 3 / 4);
        for (size_t n = 1 + below(4); n > 0; n--)
            mutate_once(&t);
        if (t.len > MUTANT_MAX)
            t.len = MUTANT_MAX;
        write_frame(&t);
        free(t.bytes);
    }
    for (size_t i = 0; i < seeds.count; i++)
        free(seeds.texts[i].bytes);
    free(seeds.texts);
}

static uint64_t number(const char *s)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(s, &end, 10);
    if (errno != 0 || end == s || *end != '\0')
        die("not a number: ", s);
    return n;
}

int main(int argc, char **argv)
{
    bool safe = argc == 5 && strcmp(argv[4], "--safe") == 0;
    if ((argc == 4 || safe) && strcmp(argv[1], "grammar") == 0)
        generate(number(argv[2]), number(argv[3]), safe ? SAFE : WILD);
    else if (argc == 4 && strcmp(argv[1], "mutate") == 0)
        mutate(number(argv[2]), number(argv[3]));
    else
        die("usage: shellgen grammar SEED COUNT [--safe] | shellgen mutate SEED COUNT", "");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
