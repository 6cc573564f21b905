/* Small things about words and texts. */
#include "facts/internal.h"

void words_add(struct walk *w, struct words *words, struct fact_word word)
{
    if (++w->words_made > WORDS_TOTAL) {
        if (!w->bound_told)
            finding_add(w, FINDING_BOUND, "the text", "makes more words than are looked at",
                        word.span);
        w->bound_told = true;
        if (words->count) { /* what follows is as unknown as this */
            struct fact_word *last = &words->items[words->count - 1];
            last->state = WORD_UNKNOWN;
            last->source = SOURCE_TOO_MUCH;
            last->many = true;
            last->text = "";
            last->len = 0;
            return;
        }
    }
    if (words->count == words->capacity) {
        size_t capacity = words->capacity ? words->capacity * 2 : 8;
        struct fact_word *more = arena_alloc_array(w->arena, capacity, sizeof(*more));
        if (!more)
            return;
        if (words->count)
            memcpy(more, words->items, words->count * sizeof(*more));
        words->items = more;
        words->capacity = capacity;
    }
    words->items[words->count++] = word;
}

bool is_name(const char *text, size_t len)
{
    if (len == 0 || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (!(c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')))
            return false;
    }
    return true;
}

bool is_number(const char *text, size_t len)
{
    size_t i = len && (text[0] == '-' || text[0] == '+');
    if (i == len)
        return false;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return true;
}

/* In a text within the text, everything points at the word that holds it. */
struct shell_span span_of(const struct walk *w, struct shell_span span)
{
    return w->unit->own ? span : w->unit->span;
}
