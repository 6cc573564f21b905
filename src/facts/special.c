/* Commands with rules of their own; see special.h. */
#include "facts/special.h"

struct fact_word special_join(struct walk *w, const struct fact_word *words, size_t count)
{
    size_t len = 0;
    struct fact_word joined = {.text = "", .state = WORD_KNOWN};
    if (count == 0)
        return joined;
    joined.span = (struct shell_span){words[0].span.from, words[count - 1].span.to};
    for (size_t i = 0; i < count; i++) {
        if (words[i].state != WORD_KNOWN || words[i].many) {
            joined.state = WORD_UNKNOWN;
            joined.source = words[i].source > joined.source ? words[i].source : joined.source;
        }
        len += words[i].len + 1;
    }
    if (joined.state != WORD_KNOWN)
        return joined;
    if (count == 1)
        return words[0];
    char *text = arena_alloc(w->arena, len + 1);
    if (!text)
        return (struct fact_word){.text = "", .source = SOURCE_TOO_MUCH};
    len = 0;
    for (size_t i = 0; i < count; i++) {
        if (i)
            text[len++] = ' ';
        memcpy(text + len, words[i].text, words[i].len);
        len += words[i].len;
    }
    joined.text = text;
    joined.len = (uint32_t)len;
    return joined;
}

struct stream special_run(struct walk *w, const struct fact_word *words, size_t count,
                          struct shell_span span, struct stream in, struct act **ret)
{
    bool programs = w->programs_only;
    w->programs_only = true;
    struct stream out = act_run(w, words, count, span, in, ret);
    w->programs_only = programs;
    return out;
}

struct fact_word special_fill_numbers(struct walk *w, const struct fact_word *word)
{
    if (word->state != WORD_PATTERN || word->source != SOURCE_NUMBER)
        return *word;
    char *text = arena_alloc(w->arena, word->len + 1);
    size_t len = 0;
    for (size_t i = 0; text && i < word->len; i++) {
        if (word->text[i] == '\\' && i + 1 < word->len)
            text[len++] = word->text[++i];
        else
            text[len++] = (char)(word->text[i] == '*' ? '1' : word->text[i]);
    }
    struct fact_word filled = *word;
    if (text) {
        filled.text = text;
        filled.len = (uint32_t)len;
        filled.state = WORD_KNOWN;
    }
    return filled;
}

/* --- shells --------------------------------------------------------------------------------- */

struct shell_call {
    bool command, from_stdin, only_reads;
    const char *odd_option;
    size_t operand; /* index of the first */
};

static struct shell_call read_shell_call(struct walk *w, struct act *act)
{
    struct shell_call call = {0};
    size_t i = 1;
    for (; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN) {
            if (word->len == 0 ? word->source > SOURCE_FILES : word->text[0] == '-')
                finding_add(w, FINDING_OPTION, act->name,
                            "gets a word that is not known here and may be an option", word->span);
            break;
        }
        if (word->len < 2 || (word->text[0] != '-' && word->text[0] != '+')) {
            if (word_is(word, "-"))
                i++;
            break;
        }
        if (word_is(word, "--")) {
            i++;
            break;
        }
        if (word->text[0] == '-' && word->text[1] == '-') {
            if (word_is(word, "--rcfile") || word_is(word, "--init-file")) {
                finding_add(w, FINDING_OPTION, word->text, "names a file that the shell runs first",
                            word->span);
                i++;
            } else if (word_is(word, "--posix")) {
                call.odd_option = word->text;
            }
            continue;
        }
        for (size_t k = 1; k < word->len; k++) {
            char c = word->text[k];
            call.command |= c == 'c' && word->text[0] == '-';
            call.from_stdin |= c == 's';
            call.only_reads |= c == 'n' && word->text[0] == '-';
            /* history, keywords as variables, braces, restrictions */
            if (strchr(word->text[0] == '-' ? "Hikr" : "B", c))
                call.odd_option = word->text;
            if ((c == 'o' || c == 'O') && i + 1 < act->word_count) {
                builtin_check_setting(w, c == 'o' ? "set" : "shopt", &act->words[++i]);
                break;
            }
        }
    }
    call.operand = i;
    return call;
}

void special_shell(struct walk *w, struct act *act, struct stream in)
{
    struct shell_call call = read_shell_call(w, act);
    enum dialect dialect = name_is(act->name, "bash") ? DIALECT_BASH : DIALECT_SH;
    act->first_operand = call.operand;
    if (call.odd_option)
        finding_add(w, FINDING_SETTING, call.odd_option, "changes how the shell reads text",
                    act->span);
    static const char *const others[] = {"zsh",   "fish",   "csh",        "tcsh", "ksh",
                                         "mksh",  "pwsh",   "powershell", "cmd",  "nu",
                                         "xonsh", "elvish", "rc",         "es"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (name_is(act->name, others[i]))
            finding_add(w, FINDING_DIALECT, act->name, "reads text in a way of its own", act->span);
    }
    if (call.command && call.operand < act->word_count) {
        act->flags |= ACT_TRANSPARENT;
        size_t args = call.operand + 2;
        bool given = args < act->word_count;
        inner_process(w, &act->words[call.operand], dialect, given ? act->words + args : NULL,
                      given ? act->word_count - args : 0);
        return;
    }
    bool stdin_path =
        call.operand < act->word_count && (word_is(&act->words[call.operand], "/dev/stdin") ||
                                           word_is(&act->words[call.operand], "/dev/fd/0") ||
                                           word_is(&act->words[call.operand], "/proc/self/fd/0"));
    if (call.from_stdin || call.operand >= act->word_count || stdin_path) {
        if (in.none) { /* the caller's own input: nobody knows */
            act->effects |= EFFECT_RUNS;
            return;
        }
        if (in.state == WORD_KNOWN)
            act->flags |= ACT_TRANSPARENT;
        else
            act->effects |= EFFECT_RUNS;
        inner_stream(w, &in, dialect, act->span);
        return;
    }
    const struct fact_word *script = &act->words[call.operand];
    if (call.only_reads && act->word_count == 3) { /* bash -n FILE */
        act->flags |= ACT_TRANSPARENT;
        act_paths(act, path_make(w, w->cwd, script, PATH_READ));
        return;
    }
    act->effects |= EFFECT_RUNS;
    act_paths(act, path_make(w, w->cwd, script, PATH_READ | PATH_RUN));
    if (script->state != WORD_KNOWN && script->source >= SOURCE_DECODED)
        finding_add(w, script->source == SOURCE_DECODED ? FINDING_DECODED : FINDING_DOWNLOAD,
                    act->name, "runs text that was decoded or downloaded", script->span);
}

/* --- wrappers ------------------------------------------------------------------------------- */

/* How xargs is told to use what it reads. */
struct xargs_call {
    const char *replaced; /* this string, by each line; NULL: words are added */
    bool unclear;         /* … and which string is not said plainly */
    bool cut;             /* into several calls, at blanks of another kind, or from a file */
};

static struct xargs_call read_xargs(const struct act *act)
{
    struct xargs_call call = {0};
    for (size_t i = 1; i < act->first_operand && i < act->word_count; i++) {
        const char *text = act->words[i].text;
        if (act->words[i].state != WORD_KNOWN || text[0] != '-' || !text[1])
            continue;
        if (name_is(text, "-I") && i + 1 < act->word_count) {
            call.unclear |= act->words[i + 1].state != WORD_KNOWN;
            call.replaced = act->words[++i].text;
        } else if (strncmp(text, "-I", 2) == 0) {
            call.replaced = text + 2;
        } else if (name_is(text, "-i") || name_is(text, "--replace")) {
            call.replaced = "{}";
        } else if (strncmp(text, "--replace=", 10) == 0) {
            call.replaced = text + 10;
        } else if (text[1] == '-') {
            call.unclear |= strncmp(text, "--re", 4) == 0;
            call.cut = true;
        } else {
            call.unclear |= strpbrk(text + 1, "iI") != NULL;
            call.cut |= strspn(text + 1, "rtpx") != strlen(text + 1);
        }
    }
    return call;
}

/* What flows in, as the words that xargs makes of it. */
static void add_input(struct walk *w, const struct act *act, struct stream in, bool cut,
                      struct words *out)
{
    bool plain = in.state == WORD_KNOWN && !in.none && in.len < WORDS_MAX && !cut;
    for (uint32_t i = 0; plain && i < in.len; i++)
        plain = !char_in(in.text[i], "'\"\\");
    if (!plain) {
        uint8_t source = in.none || !in.source ? SOURCE_INPUT : in.source;
        words_add(
            w, out,
            (struct fact_word){.text = "", .source = source, .many = true, .span = act->span});
        return;
    }
    for (uint32_t i = 0; i < in.len;) {
        while (i < in.len && char_in(in.text[i], " \t\n"))
            i++;
        uint32_t from = i;
        while (i < in.len && !char_in(in.text[i], " \t\n"))
            i++;
        const char *copy = i > from ? arena_copy(w->arena, in.text + from, i - from) : NULL;
        if (copy)
            words_add(w, out,
                      (struct fact_word){
                          .text = copy, .len = i - from, .state = WORD_KNOWN, .span = act->span});
    }
}

/* `word` with `string` in it replaced by something that is not known. */
static struct fact_word with_hole(struct walk *w, const struct fact_word *word, const char *string,
                                  struct fact_word hole)
{
    const char *at = word->state == WORD_KNOWN && *string ? strstr(word->text, string) : NULL;
    if (!at)
        return *word;
    size_t before = (size_t)(at - word->text);
    if (before == 0 && word->len == strlen(string)) {
        hole.span = word->span;
        return hole;
    }
    const char *prefix = arena_copy(w->arena, word->text, before);
    return (struct fact_word){.text = prefix ? prefix : "",
                              .len = prefix ? (uint32_t)before : 0,
                              .source = hole.source,
                              .span = word->span};
}

/* `word` with every `string` in it replaced by `line`. */
static struct fact_word with_line(struct walk *w, const struct fact_word *word, const char *string,
                                  const char *line)
{
    if (word->state != WORD_KNOWN || !strstr(word->text, string))
        return *word;
    struct buf text;
    buf_init(&text, &allocator_libc, 1 << 16);
    const char *from = word->text;
    for (const char *at; (at = strstr(from, string)); from = at + strlen(string)) {
        buf_append(&text, from, (size_t)(at - from));
        buf_append_text(&text, line);
    }
    buf_append_text(&text, from);
    struct fact_word filled = *word;
    filled.text = text.failed ? NULL : arena_copy(w->arena, text.data, text.len);
    filled.len = (uint32_t)text.len;
    buf_release(&text);
    return filled.text
               ? filled
               : (struct fact_word){.text = "", .source = SOURCE_TOO_MUCH, .span = word->span};
}

/* xargs -I of lines that are known, each by itself. */
static bool run_lines(struct walk *w, struct act *act, const struct fact_word *words, size_t count,
                      const char *string, struct stream in)
{
    enum { LINES_MAX = 16 };
    size_t lines = 0;
    if (in.state != WORD_KNOWN || in.none || in.len > WORDS_MAX || count == 0)
        return false;
    for (uint32_t i = 0; i < in.len; i++) {
        lines += in.text[i] == '\n';
        if (char_in(in.text[i], "'\"\\"))
            return false;
    }
    if (lines > LINES_MAX)
        return false;
    for (const char *at = in.text; *at;) {
        size_t len = strcspn(at, "\n");
        const char *line = at + strspn(at, " \t");
        const char *copy =
            line < at + len ? arena_copy(w->arena, line, len - (size_t)(line - at)) : NULL;
        struct words all = {0};
        for (size_t i = 0; copy && i < count; i++)
            words_add(w, &all, with_line(w, &words[i], string, copy));
        struct act *inner = NULL;
        if (all.count)
            special_run(w, all.items, all.count, act->span, stream_unknown(SOURCE_INPUT), &inner);
        at += len + (at[len] == '\n');
    }
    return true;
}

static void run_xargs(struct walk *w, struct act *act, const struct fact_word *words, size_t count,
                      struct stream in)
{
    static const struct fact_word echo = {.text = "echo", .len = 4, .state = WORD_KNOWN};
    struct words all = {0};
    struct xargs_call call = read_xargs(act);
    const char *string = call.replaced;
    if (call.unclear)
        finding_add(w, FINDING_CODE, act->name, "puts what it reads into the command", act->span);
    uint8_t source = in.none || !in.source ? SOURCE_INPUT : in.source;
    if (string && *string && !call.cut && run_lines(w, act, words, count, string, in))
        return;
    if (count == 0)
        words_add(w, &all, echo);
    for (size_t i = 0; i < count; i++)
        words_add(w, &all,
                  string ? with_hole(w, &words[i], string,
                                     (struct fact_word){.text = "", .source = source})
                         : words[i]);
    if (!string)
        add_input(w, act, in, call.cut, &all);
    struct act *inner = NULL;
    special_run(w, all.items, all.count, act->span,
                (struct stream){.source = SOURCE_INPUT, .text = ""}, &inner);
}

/* parallel: the words up to :::, and then arguments from there or from what flows in. */
static void run_parallel(struct walk *w, struct act *act, const struct fact_word *words,
                         size_t count)
{
    struct words all = {0};
    for (size_t i = 0; i < count; i++) {
        if (words[i].state == WORD_KNOWN && strncmp(words[i].text, ":::", 3) == 0)
            break;
        words_add(
            w, &all,
            with_hole(w, &words[i], "{", (struct fact_word){.text = "", .source = SOURCE_INPUT}));
    }
    finding_add(w, FINDING_CODE, act->name, "makes a text for the shell of what it is given",
                act->span);
    if (all.count == 0)
        return;
    if (all.count == 1 && memchr(words[0].text, ' ', words[0].len)) {
        inner_text(w, &words[0], DIALECT_BASH, true);
        return;
    }
    words_add(
        w, &all,
        (struct fact_word){.text = "", .source = SOURCE_INPUT, .many = true, .span = act->span});
    struct act *inner = NULL;
    special_run(w, all.items, all.count, act->span,
                (struct stream){.source = SOURCE_INPUT, .text = ""}, &inner);
}

void special_argv(struct walk *w, struct act *act, const struct fact_word *words, size_t count,
                  struct stream in)
{
    if (act->known->kind == KIND_NETWORK) {
        act->flags |= ACT_REMOTE;
        return;
    }
    if (name_is(act->name, "xargs")) {
        run_xargs(w, act, words, count, in);
        return;
    }
    if (name_is(act->name, "parallel")) {
        run_parallel(w, act, words, count);
        return;
    }
    if (word_is(&words[0], "-c") && count > 1) { /* flock FILE -c TEXT */
        inner_text(w, &words[1], DIALECT_SH, true);
        return;
    }
    struct act *inner = NULL;
    bool bare = w->bare_environment;
    w->bare_environment |= name_is(act->name, "env") && act->words[1].text[0] == '-';
    special_run(w, words, count, (struct shell_span){words[0].span.from, words[count - 1].span.to},
                in, &inner);
    w->bare_environment = bare;
}

/* --- files ---------------------------------------------------------------------------------- */

/* Where find starts: the words before its first test. */
static struct fact_word start_of(struct walk *w, const struct act *act, size_t exec)
{
    static const char *const negations[] = {"!", "-not", "-o", "-or", ",", "(", "-L", "-H", "-P"};
    bool plain = act->word_count <= WORDS_MAX; /* or one -exec after another */
    for (size_t i = 1; plain && i + 1 < exec; i++) {
        const char *text = act->words[i].text;
        plain = strncmp(text, "-O", 2) != 0 && strncmp(text, "-D", 2) != 0 &&
                strncmp(text, "-exec", 5) != 0 && strncmp(text, "-ok", 3) != 0 &&
                strncmp(text, "-files0", 7) != 0;
        for (size_t k = 0; plain && k < sizeof(negations) / sizeof(*negations); k++)
            plain = strcmp(text, negations[k]) != 0;
    }
    if (!plain)
        return (struct fact_word){.text = "", .source = SOURCE_FILES, .many = true};
    const struct fact_word *first = act->word_count > 1 ? &act->words[1] : NULL;
    struct fact_word hole = {.text = "./", .len = 2, .source = SOURCE_FILES, .many = true};
    for (size_t i = 1; i < act->word_count; i++) {
        if (act->words[i].state == WORD_KNOWN && act->words[i].text[0] == '-')
            break;
        if (i > 1) { /* several: nothing to say about how they begin */
            hole.text = "";
            hole.len = 0;
        }
    }
    const struct fact_word *name = NULL;
    size_t names = 0;
    for (size_t i = 1; i + 1 < exec; i++) { /* only what stands before it has let it through */
        if (word_is(&act->words[i], "-name")) {
            name = &act->words[i + 1];
            names++;
        }
    }
    if (names == 1 && name->state == WORD_KNOWN && hole.len && first &&
        (first->state == WORD_KNOWN)) { /* somewhere below, and of this name */
        char *glob = arena_format(w->arena, "%s/**/%s", first->text[0] == '-' ? "." : first->text,
                                  name->text);
        if (glob)
            return (struct fact_word){.text = glob,
                                      .len = (uint32_t)strlen(glob),
                                      .state = WORD_PATTERN,
                                      .source = SOURCE_FILES,
                                      .many = true};
    }
    if (hole.len && first && first->state == WORD_KNOWN && first->text[0] != '-' && first->len) {
        char *prefix = arena_format(w->arena, "%s/", first->text);
        hole.text = prefix ? prefix : "";
        hole.len = (uint32_t)strlen(hole.text);
    } else if (first && first->state != WORD_KNOWN) {
        hole.text = "";
        hole.len = 0;
    }
    return hole;
}

void special_found_files(struct walk *w, struct act *act, const struct fact_word *words,
                         size_t count, struct stream in)
{
    struct words all = {0};
    struct fact_word hole = start_of(w, act, (size_t)(words - act->words));
    for (size_t i = 0; i < count; i++)
        words_add(w, &all, with_hole(w, &words[i], "{}", hole));
    if (!all.count)
        return;
    struct act *inner = NULL;
    special_run(w, all.items, all.count,
                (struct shell_span){words[0].span.from, words[count - 1].span.to}, in, &inner);
}

void special_removal(struct walk *w, struct act *act, const struct knowledge_option *option,
                     const struct words *operands, size_t option_count)
{
    struct words all = {0};
    words_add(w, &all,
              (struct fact_word){.text = option->as,
                                 .len = (uint32_t)strlen(option->as),
                                 .state = WORD_KNOWN,
                                 .span = act->span});
    static const struct fact_word here = {.text = ".", .len = 1, .state = WORD_KNOWN};
    size_t count = operands->count;
    for (size_t i = 0; i < (count ? count : 1); i++) {
        struct fact_word word = count ? operands->items[i] : here;
        if (option_count > 1 && word.state == WORD_KNOWN) { /* only what its tests let through */
            char *prefix = arena_format(w->arena, "%s/", word.text);
            word = (struct fact_word){.text = prefix ? prefix : "",
                                      .len = prefix ? (uint32_t)strlen(prefix) : 0,
                                      .source = SOURCE_FILES,
                                      .span = word.span};
        }
        words_add(w, &all, word);
    }
    struct act *removal = act_add(w, all.items, all.count, act->span);
    if (!removal)
        return;
    removal->name = option->as;
    removal->known = knowledge_find(w->host->knowledge, option->as, strlen(option->as));
    removal->flags |= ACT_ASSUMED;
    removal->via = act;
    removal->first_operand = 1;
    for (size_t i = 1; i < all.count; i++)
        act_paths(removal, path_make(w, w->cwd, &all.items[i], PATH_DELETE));
}

void special_enter(struct walk *w, struct act *act, const struct fact_word *word,
                   const struct place *base)
{
    if (!name_is(act->name, "git"))
        return;
    bool other = word->state != WORD_KNOWN;
    const struct place *place = other ? NULL : path_enter(w, base, word);
    for (; place && !other; place = place->next) {
        const char *name = strrchr(place->path, '/');
        other = strcmp(place->path, w->host->workspace) != 0 && name && name[1] == '.';
        char *inside = arena_format(w->arena, "%s/.git", place->path);
        char *bare = arena_format(w->arena, "%s/HEAD", place->path);
        if (strcmp(place->path, w->host->workspace) != 0 && w->host->exists && inside && bare)
            other |= w->host->exists(w->host->user, inside) ||
                     w->host->exists(w->host->user, bare) ||
                     (w->writes && !w->host->exists(w->host->user, place->path));
    }
    if (other)
        finding_add(w, FINDING_OPTION, "git -C",
                    "enters what may be another repository, whose configuration can run programs",
                    word->span);
}

const struct place *special_link_base(struct walk *w, const struct act *act,
                                      const struct fact_word *link, const struct place *base)
{
    bool symbolic = false;
    for (size_t i = 1; i < act->word_count; i++)
        symbolic |= act->words[i].text[0] == '-' &&
                    (name_is(act->words[i].text, "--symbolic") ||
                     (act->words[i].text[1] != '-' && strchr(act->words[i].text, 's')));
    const char *slash = link->state == WORD_KNOWN ? memrchr(link->text, '/', link->len) : NULL;
    if (!symbolic || !slash)
        return base;
    struct fact_word directory = *link;
    directory.len = (uint32_t)(slash - link->text);
    directory.text = arena_copy(w->arena, link->text, directory.len);
    return directory.text ? path_enter(w, base, &directory) : base;
}

bool special_is_pager(const char *name)
{
    static const char *const pagers[] = {"less", "more", "most", "zless", "zmore", "view", "pg"};
    for (size_t i = 0; i < sizeof(pagers) / sizeof(*pagers); i++) {
        if (name_is(name, pagers[i]))
            return true;
    }
    return false;
}

bool special_unpacks(const struct act *act)
{
    if (!name_is(act->name, "tar"))
        return false;
    for (size_t i = 1; i < act->word_count; i++) {
        const char *text = act->words[i].text;
        if (name_is(text, "--extract") || name_is(text, "--get"))
            return true;
        if ((i == 1 || text[0] == '-') && text[0] && text[1] != '-' && strchr(text, 'x'))
            return true;
    }
    return false;
}

const char *special_implied(const struct act *act, const struct words *operands)
{
    if (!name_is(act->name, "git") || !act->sub || !name_is(act->sub->name, "push"))
        return NULL;
    for (size_t i = 0; i < operands->count; i++) {
        const struct knowledge_option *force =
            operands->items[i].text[0] == '+' ? knowledge_option(act->sub, "--force", 7) : NULL;
        if (force)
            return force->same;
    }
    return NULL;
}

void special_note_link(struct walk *w, const struct act *act)
{
    const struct fact_path *target = NULL, *link = NULL;
    for (const struct fact_path *p = act->paths; p; p = p->next) {
        if (!target && (p->mode & PATH_READ))
            target = p;
        if (!link && (p->mode & PATH_WRITE))
            link = p;
    }
    if (!target || target->state != WORD_KNOWN || !target->text)
        return;
    const char *name = strrchr(target->text, '/'), *path = NULL;
    bool into = link && link->text && w->host->is_directory &&
                w->host->is_directory(w->host->user, link->text);
    if (act->operand_count == 1 && w->cwd && !w->cwd->next) /* ln -s a/b: here, as b */
        path = arena_format(w->arena, "%s%s", w->cwd->path, name);
    else if (act->operand_count == 2 && into)
        path = arena_format(w->arena, "%s%s", link->text, name);
    else if (act->operand_count == 2 && link && link->state == WORD_KNOWN)
        path = link->text;
    if (!path)
        return;
    struct link *made = arena_take(w->arena, sizeof(*made));
    if (made) {
        *made = (struct link){path, target->text, w->links};
        w->links = made;
    }
}
