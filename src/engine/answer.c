/* The line of an output that ends a task; see engine.h. */
#include <string.h>
#include <strings.h>

#include "engine/engine.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without the blanks around it. */
static void trim(const char **text, size_t *len)
{
    while (*len && is_blank(**text)) {
        (*text)++;
        (*len)--;
    }
    while (*len && is_blank((*text)[*len - 1]))
        (*len)--;
}

const char *answer_find(struct arena *arena, const char *text, size_t len)
{
    static const char word[] = "SUBMIT:";
    const size_t word_len = sizeof(word) - 1;
    while (len) {
        const char *end = memchr(text, '\n', len), *line = text;
        size_t line_len = end ? (size_t)(end - text) : len;
        text += line_len + (end != NULL);
        len -= line_len + (end != NULL);
        trim(&line, &line_len);
        if (line_len <= word_len || strncasecmp(line, word, word_len) != 0)
            continue;
        line += word_len;
        line_len -= word_len;
        trim(&line, &line_len);
        if (line_len && !memchr(line, '\0', line_len))
            return arena_copy(arena, line, line_len);
    }
    return NULL;
}
