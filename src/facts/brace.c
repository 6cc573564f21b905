/*
 * Brace expansion: {a,b} and {1..3}, which bash does before everything else, on the letters of a
 * word. The word is taken apart into live letters and whole parts, and put together again.
 */
#include "facts/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A live letter, or a part that braces cannot look into. */
struct atom {
    char letter;
    const struct shell_part *part;
};

struct atoms {
    const struct atom *items;
    size_t count;
};

struct braces {
    struct walk *w;
    void (*each)(struct walk *w, const struct shell_part *parts, void *user);
    void *user;
    size_t made;
    bool too_many;
};

bool brace_has(const struct shell_word *word)
{
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind == SHELL_TEXT && memchr(part->text.bytes, '{', part->text.len))
            return true;
    }
    return false;
}

bool brace_joins(const struct shell_word *word)
{
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind == SHELL_PARAM && part->next && part->next->kind == SHELL_TEXT &&
            (part->param->bare || part->next->text.bytes[0] == '{'))
            return true;
    }
    return false;
}

static bool is_letter(const struct atom *atom, char letter)
{
    return !atom->part && atom->letter == letter;
}

static void emit(struct braces *b, const struct atom *atoms, size_t count)
{
    if (++b->made > WORDS_MAX) {
        b->too_many = true;
        return;
    }
    struct shell_part *first = NULL, **last = &first;
    for (size_t i = 0; i < count;) {
        struct shell_part *part = arena_take(b->w->arena, sizeof(*part));
        if (!part)
            return;
        if (atoms[i].part) {
            *part = *atoms[i++].part;
            part->next = NULL;
        } else {
            size_t from = i;
            while (i < count && !atoms[i].part)
                i++;
            char *text = arena_alloc(b->w->arena, i - from + 1);
            if (!text)
                return;
            for (size_t k = from; k < i; k++)
                text[k - from] = atoms[k].letter;
            part->kind = SHELL_TEXT;
            part->text = (struct shell_text){text, (uint32_t)(i - from)};
        }
        *last = part;
        last = &part->next;
    }
    b->each(b->w, first, b->user);
}

/* The matching } of the { at `open`, or 0; whether commas stand at its level. */
static size_t find_close(struct atoms a, size_t open, bool *comma)
{
    size_t depth = 0;
    *comma = false;
    for (size_t i = open; i < a.count; i++) {
        if (is_letter(&a.items[i], '{')) {
            depth++;
        } else if (is_letter(&a.items[i], '}')) {
            if (--depth == 0)
                return i;
        } else if (is_letter(&a.items[i], ',') && depth == 1) {
            *comma = true;
        }
    }
    return 0;
}

struct sequence {
    long from, to, step;
    size_t width; /* of zero-padded numbers */
    bool letters;
};

static bool read_sequence(struct atoms a, size_t open, size_t close, struct sequence *ret)
{
    char text[64];
    if (close - open - 1 >= sizeof(text))
        return false;
    for (size_t i = open + 1; i < close; i++) {
        if (a.items[i].part)
            return false;
        text[i - open - 1] = a.items[i].letter;
    }
    text[close - open - 1] = '\0';
    char *dots = strstr(text, "..");
    if (!dots)
        return false;
    *dots = '\0';
    char *to = dots + 2, *step = strstr(to, "..");
    if (step) {
        *step = '\0';
        step += 2;
    }
    *ret = (struct sequence){.step = 1};
    if (is_number(text, strlen(text)) && is_number(to, strlen(to))) {
        size_t a_len = strlen(text), b_len = strlen(to);
        if (a_len > 10 || b_len > 10)
            return false;
        ret->from = strtol(text, NULL, 10);
        ret->to = strtol(to, NULL, 10);
        const char *digits = text + (*text == '-'), *other = to + (*to == '-');
        if ((digits[0] == '0' && digits[1]) || (other[0] == '0' && other[1]))
            ret->width = a_len > b_len ? a_len : b_len;
    } else if (strlen(text) == 1 && strlen(to) == 1 && (text[0] | 32) >= 'a' &&
               (text[0] | 32) <= 'z' && (to[0] | 32) >= 'a' && (to[0] | 32) <= 'z') {
        ret->letters = true;
        ret->from = (unsigned char)text[0];
        ret->to = (unsigned char)to[0];
    } else {
        return false;
    }
    if (step) {
        if (!is_number(step, strlen(step)) || strlen(step) > 9)
            return false;
        ret->step = labs(strtol(step, NULL, 10));
        if (ret->step == 0)
            ret->step = 1;
    }
    return true;
}

static void expand(struct braces *b, struct atoms done, struct atoms rest);

/* `done`, the letters of `text`, `tail`. */
static void with_text(struct braces *b, struct atoms done, struct atoms middle, struct atoms tail)
{
    struct atom *all =
        arena_alloc_array(b->w->arena, done.count + middle.count + tail.count + 1, sizeof(*all));
    if (!all)
        return;
    if (middle.count)
        memcpy(all, middle.items, middle.count * sizeof(*all));
    if (tail.count)
        memcpy(all + middle.count, tail.items, tail.count * sizeof(*all));
    expand(b, done, (struct atoms){all, middle.count + tail.count});
}

static void run_sequence(struct braces *b, struct atoms done, const struct sequence *s,
                         struct atoms tail)
{
    long step = s->from <= s->to ? s->step : -s->step;
    for (long i = s->from; (step > 0 ? i <= s->to : i >= s->to) && !b->too_many; i += step) {
        char text[32];
        int len = s->letters ? snprintf(text, sizeof(text), "%c", (int)i)
                             : snprintf(text, sizeof(text), "%0*ld", (int)s->width, i);
        struct atom letters[32];
        for (int k = 0; k < len; k++)
            letters[k] = (struct atom){.letter = text[k]};
        struct atom *all = arena_alloc_array(b->w->arena, done.count + (size_t)len, sizeof(*all));
        if (!all)
            return;
        if (done.count)
            memcpy(all, done.items, done.count * sizeof(*all));
        memcpy(all + done.count, letters, (size_t)len * sizeof(*all));
        expand(b, (struct atoms){all, done.count + (size_t)len}, tail);
    }
}

/* `done` holds no more live braces; the first brace of `rest` is next. */
static void expand(struct braces *b, struct atoms done, struct atoms rest)
{
    for (size_t open = 0; open < rest.count && !b->too_many; open++) {
        bool comma;
        size_t close;
        struct sequence sequence;
        if (!is_letter(&rest.items[open], '{') || !(close = find_close(rest, open, &comma)))
            continue;
        if (!comma && !read_sequence(rest, open, close, &sequence))
            continue;
        struct atom *before =
            arena_alloc_array(b->w->arena, done.count + open + 1, sizeof(*before));
        if (!before)
            return;
        if (done.count)
            memcpy(before, done.items, done.count * sizeof(*before));
        if (open)
            memcpy(before + done.count, rest.items, open * sizeof(*before));
        struct atoms front = {before, done.count + open};
        struct atoms tail = {rest.items + close + 1, rest.count - close - 1};
        if (!comma) {
            run_sequence(b, front, &sequence, tail);
            return;
        }
        size_t depth = 0, from = open + 1;
        for (size_t i = open; i <= close && !b->too_many; i++) {
            if (is_letter(&rest.items[i], '{'))
                depth++;
            bool ends = is_letter(&rest.items[i], '}') && --depth == 0;
            if (ends || (is_letter(&rest.items[i], ',') && depth == 1)) {
                with_text(b, front, (struct atoms){rest.items + from, i - from}, tail);
                from = i + 1;
            }
        }
        return;
    }
    struct atom *all = arena_alloc_array(b->w->arena, done.count + rest.count + 1, sizeof(*all));
    if (!all)
        return;
    if (done.count)
        memcpy(all, done.items, done.count * sizeof(*all));
    if (rest.count)
        memcpy(all + done.count, rest.items, rest.count * sizeof(*all));
    emit(b, all, done.count + rest.count);
}

bool brace_expand(struct walk *w, const struct shell_word *word,
                  void (*each)(struct walk *w, const struct shell_part *parts, void *user),
                  void *user)
{
    size_t count = 0;
    for (const struct shell_part *part = word->parts; part; part = part->next)
        count += part->kind == SHELL_TEXT ? part->text.len : 1;
    struct atom *atoms = count <= (size_t)WORDS_MAX * 4
                             ? arena_alloc_array(w->arena, count + 1, sizeof(*atoms))
                             : NULL;
    if (!atoms)
        return false;
    size_t i = 0;
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind != SHELL_TEXT) {
            atoms[i++] = (struct atom){.part = part};
            continue;
        }
        for (uint32_t k = 0; k < part->text.len; k++)
            atoms[i++] = (struct atom){.letter = part->text.bytes[k]};
    }
    struct braces b = {.w = w, .each = each, .user = user};
    expand(&b, (struct atoms){0}, (struct atoms){atoms, count});
    return !b.too_many;
}
